# LLVM, MLIR and LLD 19 as Debian packages them. The hints are needed: Debian installs them
# outside CMake's default search path. Headers are SYSTEM: their warnings are not ours.
find_package(MLIR 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/mlir)
find_package(LLD REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/lld)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(INF_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})

add_library(inf_llvm_headers INTERFACE)
target_include_directories(inf_llvm_headers SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS} ${LLD_INCLUDE_DIRS} ${CMAKE_BINARY_DIR}/ir/dialect)
target_compile_definitions(inf_llvm_headers INTERFACE ${INF_LLVM_DEFINITIONS})
