# SPDX-License-Identifier: Apache-2.0
# What a wheel carries, all of it inside the package: the module, the core, the providers with their manifests, the command, and the
# libraries they need that not every system has, with their licences. Paths are found relative to each file ($ORIGIN).

get_property(gantry_providers GLOBAL PROPERTY GANTRY_PROVIDERS)
get_property(gantry_provider_parts GLOBAL PROPERTY GANTRY_PROVIDER_PARTS)
list(APPEND gantry_providers ${gantry_provider_parts})
get_property(gantry_manifests GLOBAL PROPERTY GANTRY_MANIFESTS)
get_property(gantry_beside_providers GLOBAL PROPERTY GANTRY_BESIDE_PROVIDERS)
get_property(gantry_licences GLOBAL PROPERTY GANTRY_LICENCES)

# In the place of ICU's data (carry_libraries.cmake).
add_library(gantry_icudata SHARED icu_data.c)

set_target_properties(gantry_python PROPERTIES INSTALL_RPATH "$ORIGIN/lib")
set_target_properties(gantry_core PROPERTIES INSTALL_RPATH "$ORIGIN")
set_target_properties(gantry PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
set_target_properties(gantry_probe gantry_worker gantry_digest PROPERTIES INSTALL_RPATH "$ORIGIN/..")
set_target_properties(${gantry_providers} PROPERTIES INSTALL_RPATH "$ORIGIN:$ORIGIN/../..")
# DT_RPATH instead of DT_RUNPATH: it counts for the libraries of the carried libraries too.
foreach(target IN ITEMS gantry_python gantry_core gantry gantry_probe gantry_worker gantry_digest ${gantry_providers})
  target_link_options(${target} PRIVATE LINKER:--disable-new-dtags)
endforeach()

install(TARGETS gantry_python LIBRARY DESTINATION gantry COMPONENT python)
install(DIRECTORY ${gantry_python_dir} DESTINATION . COMPONENT python FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN py.typed
  PATTERN __pycache__ EXCLUDE)
# A wheel holds no links: the core has the name there that it is opened by.
install(TARGETS gantry_core gantry_icudata LIBRARY DESTINATION gantry/lib COMPONENT python NAMELINK_SKIP)
install(TARGETS gantry RUNTIME DESTINATION gantry/bin COMPONENT python)
install(TARGETS gantry_probe gantry_worker RUNTIME DESTINATION gantry/lib/gantry COMPONENT python)
install(TARGETS gantry_digest LIBRARY DESTINATION gantry/lib/gantry COMPONENT python)
install(TARGETS ${gantry_providers} LIBRARY DESTINATION gantry/lib/gantry/providers.d COMPONENT python)
install(PROGRAMS ${gantry_beside_providers} DESTINATION gantry/lib/gantry/providers.d COMPONENT python)
install(FILES ${gantry_licences} DESTINATION gantry/lib/licences COMPONENT python)
install(FILES ${gantry_manifests} DESTINATION gantry/lib/gantry/providers.d COMPONENT python)

set(gantry_wheel_modules $<TARGET_FILE:gantry_python> $<TARGET_FILE:gantry_digest>)
foreach(target IN LISTS gantry_providers)
  list(APPEND gantry_wheel_modules $<TARGET_FILE:${target}>)
endforeach()
# For the list of what is inside: what is no Debian package.
file(STRINGS ${GANTRY_ONEDNN_DIR}/include/oneapi/dnnl/dnnl_version.h gantry_onednn_version REGEX "DNNL_VERSION_(MAJOR|MINOR|PATCH)")
string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]*([0-9]+)[^0-9]*([0-9]+)" "\\1.\\2.\\3" gantry_onednn_version "${gantry_onednn_version}")
set(gantry_sources pkg:pypi/onnx@${ONNX_VERSION} pkg:github/oneapi-src/onednn@${gantry_onednn_version} pkg:pypi/nanobind@${nanobind_VERSION})

install(CODE "
  set(libraries $<TARGET_FILE:gantry_core>)
  set(executables $<TARGET_FILE:gantry>)
  set(modules ${gantry_wheel_modules})
  set(beside ${gantry_beside_providers})
  set(interpreter ${Python_EXECUTABLE})
  set(bill_of_materials ${CMAKE_CURRENT_SOURCE_DIR}/bill_of_materials.py ${SKBUILD_METADATA_DIR}/sboms/gantry.cdx.json ${PROJECT_VERSION}
    ${gantry_sources})
" COMPONENT python)
install(SCRIPT carry_libraries.cmake COMPONENT python)
