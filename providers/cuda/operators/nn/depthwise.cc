// SPDX-License-Identifier: Apache-2.0
#include "operators/nn/depthwise.h"

#include "compile/kernel_texts.h"
#include "kernels/nn/depthwise.h"

namespace gantry::cuda {
namespace {

constexpr int64_t kMostWindow = 81;  // taps; the kernel unrolls them
constexpr int kLeastThreads = 64;

int64_t vector_of(uint32_t dtype) { return 16 / bytes_of(dtype); }

std::string define(const char* name, int64_t value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}

}  // namespace

bool takes_depthwise(const WindowParameters& window, uint32_t dtype, size_t spatial) {
  constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);
  return spatial == 2 && (sdk::dtype_bit(dtype) & kTypes) != 0 && window.group == window.channels &&
         window.result_channels == window.channels && window.channels % vector_of(dtype) == 0 &&
         window.kernel[1] * window.kernel[2] <= kMostWindow && window.count < int64_t{1} << 31 &&
         window.in[1] * window.in[2] < int64_t{1} << 31;
}

void plan_depthwise(Planner& planner, const WindowParameters& window, uint32_t dtype,
                    const ConvEpilogue& epilogue, const DepthwiseBuffers& buffers) {
  const int64_t vector = vector_of(dtype);
  DepthwiseParameters p = {};
  p.count = static_cast<unsigned>(window.count / vector);
  p.parts = divisor_of(window.channels / vector);
  p.height = divisor_of(window.out[1]);
  p.width = divisor_of(window.out[2]);
  p.in_height = static_cast<int>(window.in[1]);
  p.in_width = static_cast<int>(window.in[2]);
  p.stride_y = static_cast<int>(window.stride[1]);
  p.stride_x = static_cast<int>(window.stride[2]);
  p.begin_y = static_cast<int>(window.begin[1]);
  p.begin_x = static_cast<int>(window.begin[2]);
  p.dilation_y = static_cast<int>(window.dilation[1]);
  p.dilation_x = static_cast<int>(window.dilation[2]);
  p.has_relu = epilogue.has_relu ? 1 : 0;
  p.most = epilogue.most;
  std::vector<std::pair<const void* const*, Buffer>> addresses = {
      {&p.result, buffers.y}, {&p.source, buffers.x}, {&p.weights, buffers.weights}};
  if (buffers.bias) addresses.emplace_back(&p.bias, *buffers.bias);
  if (buffers.added) addresses.emplace_back(&p.added, *buffers.added);
  // Smaller blocks if there would be fewer blocks than multiprocessors.
  int threads = kThreads;
  while (threads > kLeastThreads && p.count < threads * int64_t{planner.multiprocessors})
    threads /= 2;
  planner.launch(
      kernel_source({"index.h", "index.cu", "depthwise.h"},
                    "\ntypedef " + type_name(dtype) + " T;\ntypedef " + computed_name(dtype) +
                        " C;\n" + define("VECTOR", vector) + define("KERNEL_Y", window.kernel[1]) +
                        define("KERNEL_X", window.kernel[2]) +
                        std::string(kernel_text("depthwise.cu"))),
      (p.count + threads - 1) / threads, threads, p, addresses);
}

}  // namespace gantry::cuda
