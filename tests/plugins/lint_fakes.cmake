# SPDX-License-Identifier: Apache-2.0
# Providers that break a rule of `gantry provider lint` each: in what is compiled, or in how it is linked.
set(lint_fake_folder ${PROJECT_BINARY_DIR}/tests/lint_fakes)
set(lint_fake_targets)

# A sanitizer adds exports, initialisers and libraries, which are against the rules.
function(leave_unsanitized target)
  if(GANTRY_SANITIZE)
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
    target_link_options(${target} PRIVATE -fno-sanitize=all)
  endif()
endfunction()
leave_unsanitized(gantry_fake_dependency)

# Apart from gantry_provider_library, whose work is to make most of this impossible.
function(add_lint_fake name variant)
  add_library(gantry_lint_${name} MODULE lint_fake.cc)
  set_target_properties(gantry_lint_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${lint_fake_folder} SKIP_BUILD_RPATH ON
    UNITY_BUILD OFF)  # a finding names the source
  target_compile_definitions(gantry_lint_${name} PRIVATE LINT_FAKE=${variant})
  target_link_libraries(gantry_lint_${name} PRIVATE gantry::plugin_sdk)
  target_link_options(gantry_lint_${name} PRIVATE ${ARGN})
  leave_unsanitized(gantry_lint_${name})
  set(lint_fake_targets ${lint_fake_targets} gantry_lint_${name} PARENT_SCOPE)
endfunction()

add_lint_fake(good GOOD)
add_lint_fake(exports EXPORTS)
add_lint_fake(no_entry NO_ENTRY)
add_lint_fake(unique_symbols UNIQUE_SYMBOLS)
add_lint_fake(text_relocations TEXT_RELOCATIONS LINKER:-z,notext)
add_lint_fake(static_initialisers STATIC_INITIALISERS)
add_lint_fake(stripped_initialisers STATIC_INITIALISERS LINKER:-s)
add_lint_fake(c_library C_LIBRARY)
add_lint_fake(search_path GOOD LINKER:-rpath,/opt/vendor/lib)
add_lint_fake(old_search_path GOOD LINKER:--disable-new-dtags)
set_target_properties(gantry_lint_old_search_path PROPERTIES SKIP_BUILD_RPATH OFF BUILD_RPATH "$ORIGIN;relative")
add_lint_fake(executable_stack GOOD LINKER:-z,execstack)
# With a library beside it, found by $ORIGIN.
add_lint_fake(bundled_libraries GOOD LINKER:--no-as-needed)
set_target_properties(gantry_lint_bundled_libraries PROPERTIES SKIP_BUILD_RPATH OFF BUILD_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON)
target_link_libraries(gantry_lint_bundled_libraries PRIVATE gantry_fake_dependency)
add_custom_command(TARGET gantry_lint_bundled_libraries POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:gantry_fake_dependency> ${lint_fake_folder}/$<TARGET_SONAME_FILE_NAME:gantry_fake_dependency>)
