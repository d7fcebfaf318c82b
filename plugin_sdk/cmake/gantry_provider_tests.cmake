# SPDX-License-Identifier: Apache-2.0

# gantry_provider_tests(<target> [LEVEL <1..5>] [DEVICE <device>] [OPTIONS <json>] [CASES <folder>] [MODELS <folder>] [TIMEOUT <seconds>])
#
# Adds two tests of a target of gantry_provider_library to ctest: <target>.lint checks the files, <target>.conformance checks the provider against
# the rules of the boundary and writes <target>.conformance.xml, a JUnit report, beside the manifest. The arguments are those of
# `gantry provider test`; TIMEOUT limits the whole conformance test (default: 600). The gantry command is searched in the path; set GANTRY_COMMAND to
# its file if it is elsewhere.
function(gantry_provider_tests target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LEVEL;DEVICE;OPTIONS;CASES;MODELS;TIMEOUT" "")
  if(NOT TARGET ${target} OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gantry_provider_tests(${target}) needs a target of gantry_provider_library, and takes LEVEL, DEVICE, OPTIONS, CASES, "
                        "MODELS, TIMEOUT and nothing else.")
  endif()
  get_target_property(manifest ${target} GANTRY_MANIFEST)
  if(NOT manifest)
    message(FATAL_ERROR "gantry_provider_tests(${target}): expected a target of gantry_provider_library, found one without a manifest.")
  endif()
  find_program(GANTRY_COMMAND gantry DOC "The gantry command, which tests providers")
  if(NOT GANTRY_COMMAND)
    message(FATAL_ERROR "gantry_provider_tests(${target}): the command gantry is not in the path; set GANTRY_COMMAND to it.")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  get_filename_component(folder ${manifest} DIRECTORY)
  set(options --junit ${folder}/${target}.conformance.xml)
  foreach(name IN ITEMS LEVEL DEVICE OPTIONS CASES MODELS)
    if(DEFINED arg_${name})
      string(TOLOWER ${name} option)
      list(APPEND options --${option} "${arg_${name}}")
    endif()
  endforeach()
  add_test(NAME ${target}.lint COMMAND ${GANTRY_COMMAND} provider lint ${manifest})
  add_test(NAME ${target}.conformance COMMAND ${GANTRY_COMMAND} provider test ${manifest} ${options})
  set_tests_properties(${target}.conformance PROPERTIES TIMEOUT ${arg_TIMEOUT})
endfunction()
