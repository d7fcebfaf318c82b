# SPDX-License-Identifier: Apache-2.0
# Run at installation: copies the shared libraries that `libraries`, `executables` and `modules` need into gantry/lib under the name
# they are asked for by, each to find the others by itself. The C library is the system's, as old as `older_systems` allows. Licences come from the Debian
# packages, those of what is linked in too; `bill_of_materials` lists them all, run by `interpreter`. `beside` are libraries in providers.d that
# no compiler here linked.
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
foreach(library IN LISTS found)
  get_filename_component(name ${library} NAME)
  if(name MATCHES "^libicudata[.]")  # libgantry_icudata.so stands for it
    set(icu_data ${name})
    continue()
  endif()
  file(REAL_PATH ${library} real)
  file(INSTALL ${real} DESTINATION ${lib} RENAME ${name})
  patch(${lib}/${name} --set-rpath "$ORIGIN")
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

# ICU's library without its data gets a name of its own: another user of ICU in the process must not find it.
file(GLOB icu RELATIVE ${lib} ${lib}/libicuuc.*)
file(RENAME ${lib}/${icu} ${lib}/libgantry_${icu})
patch(${lib}/libgantry_${icu} --set-soname libgantry_${icu})
patch(${lib}/libgantry_${icu} --replace-needed ${icu_data} libgantry_icudata.so)
patch(${providers}/libgantry_cpu_media.so --replace-needed ${icu} libgantry_${icu})

# The C++ run-time too: the system's may be older than what compiled these, and another's in the process newer.
file(RENAME ${lib}/libstdc++.so.6 ${lib}/libgantry_stdc++.so.6)
execute_process(COMMAND ${interpreter} ${older_systems} ${CMAKE_INSTALL_PREFIX}/gantry libgantry_glibc.so libgantry_stdc++.so.6 COMMAND_ERROR_IS_FATAL ANY)
