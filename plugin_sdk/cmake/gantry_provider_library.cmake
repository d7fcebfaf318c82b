# SPDX-License-Identifier: Apache-2.0

# gantry_provider_library(<target> MANIFEST <file> SOURCES <file>... [LIBRARIES <target>...] [FOLDER <folder>])
#
# A provider: a shared library built in FOLDER (the current binary directory if it is not given) with its manifest beside it,
# so that the build tree can be used as it is. It links the SDK and LIBRARIES, exports gantry_provider_v1 only, and must have no
# undefined symbols.
function(gantry_provider_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MANIFEST;FOLDER" "SOURCES;LIBRARIES")
  if(NOT arg_MANIFEST OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gantry_provider_library(${target}) needs MANIFEST and SOURCES, and takes LIBRARIES, FOLDER and nothing else.")
  endif()
  if(NOT arg_FOLDER)
    set(arg_FOLDER ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  set(exports ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/provider_exports.map)
  add_library(${target} MODULE ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    # Libraries shipped with the provider are found beside it, wherever the folder goes. The RPATH is the same before and after
    # installation: CMake pads a build path with colons to the other's length, and an empty entry is the working directory.
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN"
    LIBRARY_OUTPUT_DIRECTORY ${arg_FOLDER})
  target_link_libraries(${target} PRIVATE gantry::plugin_sdk ${arg_LIBRARIES})
  # Visibility alone would leave the standard library's templates exported.
  target_link_options(${target} PRIVATE LINKER:-z,defs LINKER:--version-script=${exports})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${exports})
  get_filename_component(manifest ${arg_MANIFEST} NAME)
  configure_file(${arg_MANIFEST} ${arg_FOLDER}/${manifest} COPYONLY)
  set_target_properties(${target} PROPERTIES GANTRY_MANIFEST ${arg_FOLDER}/${manifest})
endfunction()
