# Debian ships lit inside llvm-19-tools, beside the tools it needs (FileCheck, not, split-file).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_file(INF_LIT lit.py PATHS ${LLVM_TOOLS_BINARY_DIR}/../build/utils/lit NO_DEFAULT_PATH)
if(NOT INF_LIT)
  message(FATAL_ERROR "lit.py not found under ${LLVM_TOOLS_BINARY_DIR}/../build/utils/lit; "
                      "install llvm-19-tools")
endif()
configure_file(${CMAKE_SOURCE_DIR}/tests/lit.site.cfg.py.in
               ${CMAKE_BINARY_DIR}/tests/lit.site.cfg.py @ONLY)

# inf_lit_tests(FOLDER): every .mlir and .test file of this directory becomes a ctest entry
# lit/FOLDER/FILE, so that a failure is named. FOLDER is the directory's path below tests/.
function(inf_lit_tests folder)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.mlir *.test)
  foreach(file ${files})
    add_test(NAME lit/${folder}/${file}
             COMMAND ${Python3_EXECUTABLE} ${INF_LIT} -v -j1 --param file=${folder}/${file}
                     ${CMAKE_BINARY_DIR}/tests/${folder}/${file})
    set_tests_properties(lit/${folder}/${file} PROPERTIES TIMEOUT 120)
  endforeach()
endfunction()
