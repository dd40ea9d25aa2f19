# One way to declare a library or a program of this project: warnings are errors, includes are
# written from the repository root ("runtime/base/Error.h"), sanitizers come from one option.
function(inf_common target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Werror)
  if(INF_ASAN)
    target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=address,undefined)
  endif()
  if(INF_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link,address,undefined
                                             -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=address,undefined)
  endif()
  if(INF_TSAN)
    target_compile_options(${target} PRIVATE -fsanitize=thread)
    # ThreadSanitizer doesn't know fences; Asio's handlers are ordered by its mutex as well.
    target_compile_definitions(${target} PRIVATE BOOST_ASIO_DISABLE_FENCED_BLOCK)
    target_link_options(${target} PRIVATE -fsanitize=thread)
  endif()
endfunction()

# inf_library(NAME SOURCES... [LINK LIBS...])
function(inf_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  inf_common(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# inf_program(NAME SOURCES... [LINK LIBS...])
function(inf_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  inf_common(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
endfunction()

# inf_gtest(NAME SOURCES... [LINK LIBS...]): one executable, each TEST a ctest entry.
function(inf_gtest name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  inf_program(${name} SOURCES ${ARG_SOURCES} LINK ${ARG_LINK} GTest::gtest_main GTest::gmock)
  target_compile_definitions(${name} PRIVATE INF_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                             INF_BINARY_DIR="${CMAKE_BINARY_DIR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()
