# SPDX-License-Identifier: Apache-2.0
# Run at installation: copies the shared libraries that `libraries`, `executables` and `modules` need into gantry/lib under the name
# they are asked for by. The C and C++ run-time is the system's. Licences come from the Debian packages, those of what is linked in too.
set(packages libboost1.74-dev libcli11-dev libopenblas-serial-dev libstb-dev libvalijson-dev nlohmann-json3-dev)
file(GET_RUNTIME_DEPENDENCIES
  LIBRARIES ${libraries} EXECUTABLES ${executables} MODULES ${modules}
  RESOLVED_DEPENDENCIES_VAR found
  PRE_EXCLUDE_REGEXES "^(ld-linux|libc|libm|libdl|librt|libpthread|libstdc\\+\\+|libgcc_s|libgantry|libgantry_onednn_runtime|libgantry_onednn_dnnl)[-.]")
foreach(library IN LISTS found)
  get_filename_component(name ${library} NAME)
  file(REAL_PATH ${library} real)
  file(INSTALL ${real} DESTINATION ${CMAKE_INSTALL_PREFIX}/gantry/lib RENAME ${name})
  execute_process(COMMAND dpkg-query --search */${name} OUTPUT_VARIABLE owner ERROR_VARIABLE said RESULT_VARIABLE status)
  string(REGEX MATCH "^[^:, ]+" package "${owner}")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "No Debian package owns ${library}, so its licence, which the wheel has to carry, is not known: ${said}")
  endif()
  list(APPEND packages ${package})
endforeach()
foreach(package IN LISTS packages)
  file(INSTALL /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_PREFIX}/gantry/lib/licences RENAME ${package})
endforeach()
