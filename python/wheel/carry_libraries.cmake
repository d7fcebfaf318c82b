# SPDX-License-Identifier: Apache-2.0
# Run at installation: copies the shared libraries that `libraries`, `executables` and `modules` need into gantry/lib, each to find the others by
# itself, under names that no other package uses: two packages in a process share no library. The C library and the compiler's are the system's,
# as old as `make_portable` allows. Licences come from the Debian packages, those of what is linked in too; `bill_of_materials` lists them all.
# `interpreter` runs both. `beside` are libraries in providers.d that no compiler here linked.
set(packages libboost1.74-dev libcli11-dev libopenblas-serial-dev libstb-dev libvalijson-dev nlohmann-json3-dev)
file(GET_RUNTIME_DEPENDENCIES
  LIBRARIES ${libraries} EXECUTABLES ${executables} MODULES ${modules}
  RESOLVED_DEPENDENCIES_VAR found
  PRE_EXCLUDE_REGEXES "^(ld-linux|libc|libm|libdl|librt|libpthread|libgcc_s|libgantry|libgantry_onednn_runtime|libgantry_onednn_dnnl)[-.]")

function(patch library)
  execute_process(COMMAND patchelf ${ARGN} ${library} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(lib ${CMAKE_INSTALL_PREFIX}/gantry/lib)
set(providers ${lib}/gantry/providers.d)
set(renamed)
foreach(library IN LISTS found)
  get_filename_component(name ${library} NAME)
  string(REGEX REPLACE "^lib" "libgantry_" own_name ${name})
  if(name MATCHES "^libicudata[.]")  # icu_data.c stands for it
    list(APPEND renamed ${name}=libgantry_icudata.so)
    continue()
  endif()
  list(APPEND renamed ${name}=${own_name})
  file(REAL_PATH ${library} real)
  file(INSTALL ${real} DESTINATION ${lib} RENAME ${own_name})
  patch(${lib}/${own_name} --set-rpath "$ORIGIN")
  execute_process(COMMAND dpkg-query --search */${name} OUTPUT_VARIABLE owner ERROR_VARIABLE said RESULT_VARIABLE status)
  string(REGEX MATCH "^[^:, ]+" package "${owner}")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "No Debian package owns ${library}, so its licence, which the wheel has to carry, is not known: ${said}")
  endif()
  list(APPEND packages ${package})
endforeach()
foreach(package IN LISTS packages)
  file(INSTALL /usr/share/doc/${package}/copyright DESTINATION ${lib}/licences RENAME ${package})
endforeach()
execute_process(COMMAND ${interpreter} ${bill_of_materials} ${packages} COMMAND_ERROR_IS_FATAL ANY)

foreach(library IN LISTS beside)
  get_filename_component(name ${library} NAME)
  patch(${providers}/${name} --set-rpath "$ORIGIN:$ORIGIN/../..")
endforeach()

execute_process(COMMAND ${interpreter} ${make_portable} ${CMAKE_INSTALL_PREFIX}/gantry libgantry_glibc.so ${renamed}
  COMMAND_ERROR_IS_FATAL ANY)
