# SPDX-License-Identifier: Apache-2.0
# What programs in C++ are built against and run with, in one prefix that may be moved (docs/cpp.md):
#
#   cmake --install BUILD --component gantry --prefix PREFIX
#
# the core with its headers, the CMake package `gantry` and gantry.pc for pkg-config, the bundled providers with their manifests, and
# the command. Laid out as the build tree is, so that each file finds the others from where it lies. The SDK for providers is a
# component of its own.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(providers GLOBAL PROPERTY GANTRY_PROVIDERS)
get_property(parts GLOBAL PROPERTY GANTRY_PROVIDER_PARTS)
get_property(manifests GLOBAL PROPERTY GANTRY_MANIFESTS)
get_property(beside GLOBAL PROPERTY GANTRY_BESIDE_PROVIDERS)
get_property(licences GLOBAL PROPERTY GANTRY_LICENCES)

set(beside_core ${CMAKE_INSTALL_LIBDIR}/gantry)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/gantry)
# In a folder that find_package does not search when the build folder's programs are in the PATH: what is here finds no targets.
set(made ${PROJECT_BINARY_DIR}/package)
# What programs are compiled with: of Debian's packages it goes with the SDK (cmake/packages.cmake).
set(development gantry)
if(GANTRY_PACKAGES)
  set(development sdk)
endif()
file(REMOVE ${PROJECT_BINARY_DIR}/gantryConfig.cmake ${PROJECT_BINARY_DIR}/gantryConfigVersion.cmake)  # an older checkout's

# The same before and after installation, as that of providers (gantry_provider_library).
set_target_properties(gantry PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
set_target_properties(gantry_probe gantry_worker PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/..")

install(TARGETS gantry_core EXPORT gantry LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT gantry NAMELINK_COMPONENT ${development})
install(DIRECTORY core/include/gantry DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${development} FILES_MATCHING PATTERN "*.h")
install(TARGETS gantry RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT gantry)
install(TARGETS gantry_probe gantry_worker RUNTIME DESTINATION ${beside_core} COMPONENT gantry)
install(TARGETS gantry_digest LIBRARY DESTINATION ${beside_core} COMPONENT gantry)
install(TARGETS gantry_onnxruntime gantry_onnxruntime_ep LIBRARY DESTINATION ${beside_core}/onnxruntime COMPONENT gantry)
install(TARGETS ${providers} ${parts} LIBRARY DESTINATION ${beside_core}/providers.d COMPONENT gantry)
install(FILES ${beside} DESTINATION ${beside_core}/providers.d COMPONENT gantry)
install(FILES ${manifests} DESTINATION ${beside_core}/providers.d COMPONENT gantry)
if(NOT GANTRY_PACKAGES)  # a package of Debian's has them in its copyright file
  install(FILES ${licences} DESTINATION ${CMAKE_INSTALL_DATADIR}/gantry/licences COMPONENT gantry)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/gantry COMPONENT gantry)
endif()

install(EXPORT gantry NAMESPACE gantry:: FILE gantryTargets.cmake DESTINATION ${package} COMPONENT ${development})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/gantryConfig.cmake.in ${made}/gantryConfig.cmake
  INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Until 1.0 another minor version may have another interface.
write_basic_package_version_file(${made}/gantryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${made}/gantryConfig.cmake ${made}/gantryConfigVersion.cmake DESTINATION ${package} COMPONENT ${development})

file(RELATIVE_PATH prefix_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/gantry.pc.in ${made}/gantry.pc @ONLY)
install(FILES ${made}/gantry.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${development})
