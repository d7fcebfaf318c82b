// SPDX-License-Identifier: Apache-2.0
// LRN: y = x / (bias + alpha / size * sum of x^2 over neighbouring channels) ^ beta.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "attributes.h"
#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"
#include "simd/vector_math.h"

namespace gantry::cpu {
namespace {

/// Elements of a plane that are computed together, channel by channel.
constexpr int64_t kLrnBlock = 256;

class Lrn final : public NodeKernel {
 public:
  explicit Lrn(const sdk::NodeView& node)
      : NodeKernel(node),
        size_(read_integer(node, "size", 0, 1)),
        alpha_(node.get_float("alpha", 0.0001F)),
        beta_(node.get_float("beta", 0.75F)),
        bias_(node.get_float("bias", 1.0F)) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape shape = call.shape(0);
    if (shape.rank < 2)
      fail("input 0 has rank " + std::to_string(shape.rank) + ", needs at least 2");
    gantry_tensor& output = call.output(0, call.input(0).dtype, shape);
    if (shape.element_count() == 0) return;
    const int64_t plane = shape.count(2, shape.rank);
    const int64_t blocks = (plane + kLrnBlock - 1) / kLrnBlock;
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const T* x = call.data<T>(0);
      T* y = static_cast<T*>(output.data);
      const int64_t grain = std::max<int64_t>(1, 4096 / (shape[1] * std::min(kLrnBlock, plane)));
      call.parallel_for(shape[0] * blocks, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t first = i % blocks * kLrnBlock;
          const int64_t at = i / blocks * shape[1] * plane + first;
          scale(x + at, y + at, shape[1], plane, std::min(kLrnBlock, plane - first));
        }
      });
    });
  }

 private:
  /// Computes all channels of `count` elements. The sum is recomputed for each channel: a running
  /// sum would accumulate rounding errors.
  template <class T>
  void scale(const T* x, T* y, int64_t channels, int64_t plane, int64_t count) const {
    using C = Compute<T>;
    const int64_t before = (size_ - 1) / 2;
    const int64_t after = size_ - 1 - before;
    C sum[kLrnBlock];
    for (int64_t c = 0; c < channels; ++c) {
      std::fill_n(sum, count, C{0});
      const int64_t last = after < channels - 1 - c ? c + after : channels - 1;
      for (int64_t k = std::max<int64_t>(c - before, 0); k <= last; ++k) {
        const T* row = x + k * plane;
        for (int64_t i = 0; i < count; ++i)
          sum[i] += static_cast<C>(row[i]) * static_cast<C>(row[i]);
      }
      const C factor = static_cast<C>(alpha_) / static_cast<C>(size_);
      for (int64_t i = 0; i < count; ++i) sum[i] = static_cast<C>(bias_) + factor * sum[i];
      power(sum, count);
      for (int64_t i = 0; i < count; ++i) {
        y[c * plane + i] = static_cast<T>(static_cast<C>(x[c * plane + i]) * sum[i]);
      }
    }
  }
  /// x = x ^ -beta
  template <class C>
  void power(C* x, int64_t count) const {
    if (beta_ == 0.75F) {
      for (int64_t i = 0; i < count; ++i) {
        const C root = std::sqrt(x[i]);
        x[i] = C{1} / (root * std::sqrt(root));
      }
    } else {
      for (int64_t i = 0; i < count; ++i) x[i] = std::pow(x[i], -static_cast<C>(beta_));
    }
  }

  int64_t size_;
  float alpha_;
  float beta_;
  float bias_;
};

constexpr sdk::KernelRow kLrnRows[] = {
    {"LRN", 1, sdk::kLatest, sdk::kFloats, sdk::make<Lrn>},
};

}  // namespace

sdk::KernelTable lrn_kernels() { return sdk::table(kLrnRows); }

}  // namespace gantry::cpu
