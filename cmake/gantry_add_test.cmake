# SPDX-License-Identifier: Apache-2.0
if(GANTRY_BUILD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# gantry_test_environment(<variable>)
#
# Properties of a test, for set_tests_properties, that say how the run-time of a sanitizer behaves. Tests ask for more memory than there
# is, where a sanitizer would end the process instead of refusing; and processes that crash for a test are to end by their signal, and
# not by a report. What the address sanitizer keeps of variables of threads is out of step with the C library where many libraries have
# been opened, and its search for lost memory then falls over it.
function(gantry_test_environment variable)
  set(options allocator_may_return_null=1:handle_segv=0:handle_abort=0:handle_sigbus=0)
  set(suppressions suppressions=${PROJECT_SOURCE_DIR}/tests/support)
  # A variable in each property: a list comes apart on its way through gtest_discover_tests.
  if(GANTRY_SANITIZE STREQUAL "thread")
    set(environment ENVIRONMENT TSAN_OPTIONS=${options}:${suppressions}/thread_sanitizer.txt)
  else()
    set(environment
      ENVIRONMENT ASAN_OPTIONS=${options}:intercept_tls_get_addr=0
      ENVIRONMENT_MODIFICATION LSAN_OPTIONS=set:print_suppressions=0:${suppressions}/leak_sanitizer.txt)
  endif()
  set(${variable} ${environment} PARENT_SCOPE)
endfunction()

# gantry_add_test(<name> SOURCES <file>... [LIBRARIES <target>...] [LABELS <label>...] [TIMEOUT <seconds>])
#
# A GoogleTest executable, each of its cases a test of ctest. Labels: unit (no provider), plugin, conformance, model, gpu.
function(gantry_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS")
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gantry_add_test(${name}) needs SOURCES, and takes LIBRARIES, LABELS and TIMEOUT and nothing else.")
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)  # compiled more often than run
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} gantry_warnings GTest::gmock GTest::gtest_main)
  gantry_test_environment(environment)
  # The cases are listed when ctest starts, so that a build does not run what it builds.
  gtest_discover_tests(${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ${environment})
endfunction()
