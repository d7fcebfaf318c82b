# SPDX-License-Identifier: Apache-2.0
# What holds for every target: where results go, the language, warnings, sanitizers, the compiler cache.

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Linked PRIVATE by each target; whether a warning is an error is the presets' to say (CMAKE_COMPILE_WARNING_AS_ERROR).
add_library(gantry_warnings INTERFACE)
target_compile_options(gantry_warnings INTERFACE -Wall -Wextra -Wpedantic -Wnon-virtual-dtor)
# GCC 12 sees overlapping copies in every `"text" + std::string` (GCC bug 105651).
target_compile_options(gantry_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

# Two trees (release and dev, say) share what did not change.
find_program(GANTRY_CCACHE ccache)
if(GANTRY_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${GANTRY_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${GANTRY_CCACHE})
endif()

# A sanitizer must see the whole process, so it is a flag of the tree and not of a target.
if(GANTRY_SANITIZE STREQUAL "address")
  set(gantry_sanitizers address,undefined)
elseif(GANTRY_SANITIZE STREQUAL "thread")
  set(gantry_sanitizers thread)
elseif(GANTRY_SANITIZE STREQUAL "fuzz")
  set(gantry_sanitizers fuzzer-no-link,address,undefined)
elseif(NOT GANTRY_SANITIZE STREQUAL "")
  message(FATAL_ERROR "GANTRY_SANITIZE is '${GANTRY_SANITIZE}'; it can be empty, address, thread or fuzz.")
endif()
if(DEFINED gantry_sanitizers)
  string(APPEND CMAKE_C_FLAGS " -fsanitize=${gantry_sanitizers} -fno-omit-frame-pointer")
  string(APPEND CMAKE_CXX_FLAGS " -fsanitize=${gantry_sanitizers} -fno-omit-frame-pointer")
  if(NOT GANTRY_SANITIZE STREQUAL "thread")
    string(APPEND CMAKE_C_FLAGS " -fno-sanitize-recover=undefined")
    string(APPEND CMAKE_CXX_FLAGS " -fno-sanitize-recover=undefined")
  endif()
endif()
