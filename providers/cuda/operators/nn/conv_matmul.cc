// SPDX-License-Identifier: Apache-2.0
#include "operators/nn/conv_matmul.h"

#include <algorithm>
#include <limits>

#include "plan/execution_device.h"

namespace gantry::cuda {
namespace {

constexpr int64_t kMostColumnBytes = int64_t{32} << 20;  // as much as cuBLASLt's workspace

int64_t product(const long long (&extents)[3]) { return extents[0] * extents[1] * extents[2]; }

// Whether the columns are the source itself.
bool is_pointwise(const WindowParameters& p) {
  const auto all_are = [](const long long(&values)[3], long long value) {
    return std::all_of(std::begin(values), std::end(values),
                       [=](long long one) { return one == value; });
  };
  return all_are(p.kernel, 1) && all_are(p.stride, 1) && all_are(p.begin, 0) && all_are(p.end, 0);
}

}  // namespace

std::optional<MatmulShape> conv_matmul_of(const Planner& planner, const WindowParameters& window,
                                          uint32_t dtype) {
  // cuBLASLt takes one batch axis.
  if (window.batch != 1 && window.group != 1) return std::nullopt;
  const int64_t bytes = bytes_of(dtype);
  MatmulShape shape;
  shape.dtype = dtype;
  shape.m = window.result_channels / window.group;
  shape.n = product(window.out);
  shape.k = window.channels / window.group * product(window.kernel);
  shape.batch = window.batch * window.group;
  shape.a_batch_stride = window.group == 1 ? 0 : shape.m * shape.k;
  shape.b_batch_stride = shape.k * shape.n;
  shape.rounds_to_tf32 = planner.rounds_to_tf32();
  const int64_t most = std::numeric_limits<int32_t>::max();
  if (shape.k == 0 || std::max({shape.m, shape.n, shape.k, shape.batch}) > most)
    return std::nullopt;
  if (!is_pointwise(window) && shape.batch * shape.b_batch_stride > kMostColumnBytes / bytes)
    return std::nullopt;
  const auto is_aligned = [&](int64_t elements) { return elements * bytes % kBlasAlignment == 0; };
  const bool are_aligned = is_aligned(shape.a_batch_stride) && is_aligned(shape.b_batch_stride) &&
                           is_aligned(shape.m * shape.n);
  if (shape.batch > 1 && !are_aligned) return std::nullopt;
  if (!planner.supports(shape)) return std::nullopt;
  return shape;
}

void plan_conv_matmul(Planner& planner, const WindowParameters& window, const MatmulShape& matmul,
                      const Buffer& x, const Buffer& w, const Buffer& y) {
  Buffer columns = x;
  if (!is_pointwise(window)) {
    columns = planner.scratch(
        static_cast<uint64_t>(matmul.batch * matmul.b_batch_stride * bytes_of(matmul.dtype)));
    WindowParameters p = window;
    p.result_channels = window.channels;
    p.count = window.batch * window.channels * matmul.n;
    launch_window(planner, p, "window_unfold.cu", "IS_TRANSPOSED false", matmul.dtype,
                  {{&p.result, columns}, {&p.source, x}});
  }
  planner.call({y, planner.scratch(kBlasWorkspaceBytes), w, columns},
               [matmul](Stream& stream, void* const* at) {
                 ExecutionDevice::of(stream).blas()->run(matmul, stream, at[2], at[3], nullptr,
                                                         nullptr, at[0], at[1]);
               });
}

}  // namespace gantry::cuda
