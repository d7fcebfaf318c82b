# SPDX-License-Identifier: Apache-2.0

# gantry_add_provider(<name> MANIFEST <file> SOURCES <file>... [LIBRARIES <target>...])
#
# A provider of this repository: the target gantry_provider_<name>, built as libgantry_<name>.so beside its manifest in
# lib/gantry/providers.d, where the core looks for bundled providers. It is what the SDK's gantry_provider_library makes for
# anybody, with our warnings and sanitizers.
function(gantry_add_provider name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MANIFEST" "SOURCES;LIBRARIES")
  if(NOT arg_MANIFEST OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gantry_add_provider(${name}) needs MANIFEST and SOURCES, and takes LIBRARIES and nothing else.")
  endif()
  set(folder ${PROJECT_BINARY_DIR}/lib/gantry/providers.d)
  set(target gantry_provider_${name})
  gantry_provider_library(${target}
    MANIFEST ${arg_MANIFEST}
    SOURCES ${arg_SOURCES}
    LIBRARIES gantry_warnings ${arg_LIBRARIES}
    FOLDER ${folder})
  # Kernels are one text for several sets of instructions, and each source has a table and constants called as in the others.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME gantry_${name} UNITY_BUILD OFF)
  if(GANTRY_SANITIZE)
    # The sanitizer's run-time belongs to the executable; a module leaves its symbols open.
    target_link_options(${target} PRIVATE LINKER:-z,undefs)
  endif()
  set_property(GLOBAL APPEND PROPERTY GANTRY_PROVIDERS ${target})
  set_property(GLOBAL APPEND PROPERTY GANTRY_MANIFESTS ${folder}/${name}.json)
endfunction()
