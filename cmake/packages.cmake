# SPDX-License-Identifier: Apache-2.0
# Debian packages, made by `cpack -G DEB` of a tree that GANTRY_PACKAGES laid out for them (tools/package):
#
#   gantry           component gantry: the library, the bundled providers, the command
#   gantry-dev       component sdk: what programs and providers are compiled with
#   python3-gantry   component python: the module for Debian's Python
include(GNUInstallDirs)
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)

set(debian ${CMAKE_CURRENT_LIST_DIR}/debian)
set(made ${PROJECT_BINARY_DIR}/package)
set(packages gantry gantry-dev python3-gantry)
set(components gantry sdk python)

set(GANTRY_MAINTAINER "gantry <gantry@example.org>" CACHE STRING "The maintainer that the Debian packages name: NAME <ADDRESS>")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, if that is set
configure_file(${debian}/changelog.in ${made}/changelog @ONLY)
execute_process(COMMAND gzip -9nf ${made}/changelog COMMAND_ERROR_IS_FATAL ANY)

foreach(package component IN ZIP_LISTS packages components)
  install(FILES ${debian}/copyright ${made}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  if(EXISTS ${debian}/${package}.overrides)
    install(FILES ${debian}/${package}.overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME ${package} COMPONENT ${component})
  endif()
endforeach()

# What the command says about itself, as shells and `man` read it.
set(script ${debian}/manual.py)
add_custom_command(
  OUTPUT ${made}/gantry.1.gz ${made}/gantry.completion
  COMMAND ${Python_EXECUTABLE} ${script} $<TARGET_FILE:gantry> ${PROJECT_VERSION} > ${made}/gantry.1
  COMMAND gzip -9nf ${made}/gantry.1
  COMMAND gantry completion bash > ${made}/gantry.completion
  DEPENDS gantry ${script} VERBATIM)
add_custom_target(gantry_manual ALL DEPENDS ${made}/gantry.1.gz ${made}/gantry.completion)
install(FILES ${made}/gantry.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT gantry)
install(FILES ${made}/gantry.completion DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME gantry COMPONENT gantry)

# The module takes the library of the package gantry, which the loader knows.
set(modules lib/python3/dist-packages)
set_target_properties(gantry_python PROPERTIES INSTALL_RPATH "")
install(TARGETS gantry_python LIBRARY DESTINATION ${modules}/gantry COMPONENT python)
install(DIRECTORY ${PROJECT_BINARY_DIR}/python/gantry DESTINATION ${modules} COMPONENT python
  FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN py.typed
  PATTERN _command.py EXCLUDE  # of the wheel, which has the command inside
  PATTERN __pycache__ EXCLUDE)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME gantry)
set(CPACK_PACKAGE_CONTACT ${GANTRY_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
# What is no target is not stripped by that. binutils' strip moves the segments that patchelf added to oneDNN (tools/setup) to where the loader
# refuses them; eu-strip leaves them.
get_property(beside GLOBAL PROPERTY GANTRY_BESIDE_PROVIDERS)
foreach(library IN LISTS beside)
  cmake_path(GET library FILENAME name)
  install(CODE "execute_process(COMMAND eu-strip \
    \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/gantry/providers.d/${name} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT gantry)
endforeach()
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Where dpkg-shlibdeps finds what these packages bring themselves.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY} ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/gantry/providers.d)
set(same_version "gantry (= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_GANTRY_PACKAGE_NAME gantry)
set(CPACK_DEBIAN_GANTRY_PACKAGE_SECTION science)
set(CPACK_DEBIAN_GANTRY_PACKAGE_SUGGESTS "gantry-dev, python3-gantry")
set(CPACK_DEBIAN_GANTRY_DESCRIPTION "run ONNX models on the devices of provider plugins
gantry loads a model in the ONNX format, gives each of its nodes to the
provider of a device, and runs it. Providers are shared libraries; this
package has those for CPUs and for GPUs by NVIDIA, whose driver and
libraries are opened if they are there.
.
It has the library libgantry too, and the command gantry, which runs,
explains and measures models.")
# No program is compiled against another minor version of the library.
file(WRITE ${made}/shlibs "libgantry ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} gantry (>= ${PROJECT_VERSION})\n")
# lintian expects the trigger that refreshes the loader's cache; the scripts that CPack adds call ldconfig besides.
file(WRITE ${made}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_GANTRY_PACKAGE_CONTROL_EXTRA ${made}/shlibs ${made}/triggers)

set(CPACK_DEBIAN_SDK_PACKAGE_NAME gantry-dev)
set(CPACK_DEBIAN_SDK_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_SDK_PACKAGE_DEPENDS "${same_version}, python3:any")
set(CPACK_DEBIAN_SDK_PACKAGE_SUGGESTS "g++, cmake, pkgconf, python3-numpy, python3-onnx")
set(CPACK_DEBIAN_SDK_DESCRIPTION "run ONNX models on the devices of provider plugins (development)
Headers of libgantry for programs in C++20, and the SDK with which
providers are written, in C or C++, each with a package for CMake and a
file for pkg-config. The scripts that cut test cases for providers out of
models need python3-numpy and python3-onnx.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-gantry)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
# The module is compiled with the headers of NumPy 2, which run under NumPy 1 too; Debian 12's is called abi9.
math(EXPR next_python "${Python_VERSION_MINOR} + 1")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "${same_version}, python3 (>= 3.${Python_VERSION_MINOR}~), python3 (<< 3.${next_python}~), python3-numpy, python3-numpy-abi9")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS python3-onnx)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "run ONNX models on the devices of provider plugins (Python 3)
The Python module gantry: sessions over NumPy arrays and DLPack tensors.
It has the interfaces of other packages too: gantry.backend that of onnx,
gantry.onnxruntime that of ONNX Runtime.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${debian}/postinst ${debian}/prerm)

include(CPack)
