# How the project's targets are declared, so that each has the same warnings, sanitizers and include root.

add_library(traind_options INTERFACE)
target_include_directories(traind_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_compile_options(traind_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-sign-conversion> -fno-math-errno)
if(TRAIND_SANITIZE)
  # With -O2, instrumented code takes half as long again to compile.
  target_compile_options(traind_options INTERFACE -O1 -fsanitize=${TRAIND_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(traind_options INTERFACE -fsanitize=${TRAIND_SANITIZE})
  # GCC 12 reports false positives of these under the sanitizers' instrumentation.
  target_compile_options(traind_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds>)
endif()
if(TRAIND_FUZZ)
  target_compile_options(traind_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(TRAIND_COVERAGE)
  target_compile_options(traind_options INTERFACE --coverage)
  target_link_options(traind_options INTERFACE --coverage)
endif()

# traind_library(name SOURCES a.cc … DEPENDS traind_base …)
function(traind_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC traind_options ${ARG_DEPENDS})
endfunction()

# traind_program(name SOURCES … DEPENDS …)
function(traind_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE traind_options ${ARG_DEPENDS})
endfunction()

# traind_test(name SOURCES … DEPENDS … [TIMEOUT s] [LABELS …]): a cmocka program, run by CTest with its scratch files in the build tree.
function(traind_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE traind_options ${ARG_DEPENDS} traind_guard PkgConfig::CMOCKA)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "unit;${ARG_LABELS}"
    ENVIRONMENT "CMOCKA_TEST_ABORT=1;TRAIND_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};TRAIND_SOURCE=${PROJECT_SOURCE_DIR}")
endfunction()
