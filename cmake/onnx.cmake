# SPDX-License-Identifier: Apache-2.0
# The target gantry_onnx: the onnx C++ library that tools/setup builds under build/deps/onnx, in the namespace gantry_onnx, with
# protobuf-lite. It carries the include folders, the definitions its headers need and the libraries.

set(GANTRY_ONNX_ROOT ${PROJECT_SOURCE_DIR}/build/deps/onnx CACHE PATH "Where the onnx C++ library is installed")
if(NOT EXISTS ${GANTRY_ONNX_ROOT}/lib/cmake/ONNX/ONNXConfig.cmake)
  message(FATAL_ERROR "There is no onnx C++ library in ${GANTRY_ONNX_ROOT}; run tools/setup, which builds it there.")
endif()
find_package(Protobuf 3.21 REQUIRED)
find_package(ONNX 1.23.2 EXACT REQUIRED CONFIG PATHS ${GANTRY_ONNX_ROOT} NO_DEFAULT_PATH)

add_library(gantry_onnx INTERFACE)
target_link_libraries(gantry_onnx INTERFACE ONNX::onnx ONNX::onnx_proto)
# What is linked in stays inside: onnx marks its classes as exported, whatever the visibility asked for.
target_link_options(gantry_onnx INTERFACE LINKER:--exclude-libs,libonnx.a:libonnx_proto.a)
