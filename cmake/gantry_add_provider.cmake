# SPDX-License-Identifier: Apache-2.0

# gantry_add_provider(<name> MANIFEST <file> SOURCES <file>... [LIBRARIES <target>...])
#
# A provider: the target gantry_provider_<name>, built as libgantry_<name>.so beside its manifest in
# lib/gantry/providers.d, where the core looks for bundled providers. It sees plugin_sdk and what LIBRARIES name, and exports
# nothing but gantry_provider_v1.
function(gantry_add_provider name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MANIFEST" "SOURCES;LIBRARIES")
  if(NOT arg_MANIFEST OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gantry_add_provider(${name}) needs MANIFEST and SOURCES, and takes LIBRARIES and nothing else.")
  endif()
  set(folder ${PROJECT_BINARY_DIR}/lib/gantry/providers.d)
  set(target gantry_provider_${name})
  add_library(${target} MODULE ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME gantry_${name}
    LIBRARY_OUTPUT_DIRECTORY ${folder})
  target_link_libraries(${target} PRIVATE gantry::plugin_sdk gantry_warnings ${arg_LIBRARIES})
  # Visibility alone would leave the standard library's templates exported.
  set(exports ${PROJECT_SOURCE_DIR}/cmake/provider_exports.map)
  target_link_options(${target} PRIVATE LINKER:-z,defs LINKER:--version-script=${exports})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${exports})
  if(GANTRY_SANITIZE)
    # The sanitizer's run-time belongs to the executable; a module leaves its symbols open.
    target_link_options(${target} PRIVATE LINKER:-z,undefs)
  endif()
  configure_file(${arg_MANIFEST} ${folder}/${name}.json COPYONLY)
  set_property(GLOBAL APPEND PROPERTY GANTRY_PROVIDERS ${target})
  set_property(GLOBAL APPEND PROPERTY GANTRY_MANIFESTS ${folder}/${name}.json)
endfunction()
