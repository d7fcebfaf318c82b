// SPDX-License-Identifier: Apache-2.0
// GlobalAveragePool, GlobalMaxPool and GlobalLpPool: reduce each channel to one value.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"
#include "simd/row_math.h"

namespace gantry::cpu {
namespace {

/// Least number of elements for a thread.
constexpr int64_t kGlobalPoolGrain = 32768;

struct Average {
  explicit Average(const sdk::NodeView&) {}
  template <class T>
  Compute<T> operator()(const T* x, int64_t count) const {
    using C = Compute<T>;
    C total = C{0};
    if constexpr (std::is_same_v<T, float>) {
      total = simd::sum(x, count);
    } else {
      for (int64_t i = 0; i < count; ++i) total += static_cast<C>(x[i]);
    }
    return total / static_cast<C>(count);
  }
};

struct Largest {
  explicit Largest(const sdk::NodeView&) {}
  template <class T>
  Compute<T> operator()(const T* x, int64_t count) const {
    using C = Compute<T>;
    if constexpr (std::is_same_v<T, float>) {
      return simd::largest(x, count);
    } else {
      C best = -std::numeric_limits<C>::infinity();
      for (int64_t i = 0; i < count; ++i) {
        const auto value = static_cast<C>(x[i]);
        if (value > best || value != value) best = value;
      }
      return best;
    }
  }
};

struct Norm {
  explicit Norm(const sdk::NodeView& node)
      : p(node.since_version() == 1 ? node.get_float("p", 2.0F)
                                    : static_cast<float>(node.get_int("p", 2))) {
    if (!(p > 0)) {
      node.fail(GANTRY_INVALID_MODEL,
                "attribute p is " + std::to_string(p) + ", expected a positive number");
    }
  }
  template <class T>
  Compute<T> operator()(const T* x, int64_t count) const {
    using C = Compute<T>;
    C total = C{0};
    if (p == 2.0F) {
      for (int64_t i = 0; i < count; ++i) total += static_cast<C>(x[i]) * static_cast<C>(x[i]);
      return std::sqrt(total);
    }
    for (int64_t i = 0; i < count; ++i) {
      const C magnitude = std::fabs(static_cast<C>(x[i]));
      total += p == 1.0F ? magnitude : std::pow(magnitude, static_cast<C>(p));
    }
    return p == 1.0F ? total : std::pow(total, C{1} / static_cast<C>(p));
  }
  float p;
};

template <class Op>
class GlobalPool final : public NodeKernel {
 public:
  explicit GlobalPool(const sdk::NodeView& node) : NodeKernel(node), op_(node) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    if (x.rank < 2) fail("input 0 has rank " + std::to_string(x.rank) + ", needs at least 2");
    Dims shape(x.rank, 1);
    shape[0] = x[0];
    shape[1] = x[1];
    const int64_t planes = count_of(shape.shape());
    gantry_tensor& output = call.output(0, call.input(0).dtype, shape.shape());
    if (planes == 0) return;
    const int64_t plane = count_of({x.data + 2, x.rank - 2});
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const T* source = call.data<T>(0);
      auto* target = static_cast<T*>(output.data);
      const int64_t grain = std::max<int64_t>(1, kGlobalPoolGrain / std::max<int64_t>(plane, 1));
      call.parallel_for(planes, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          target[i] = static_cast<T>(op_(source + i * plane, plane));
      });
    });
  }

 private:
  Op op_;
};

constexpr sdk::KernelRow kGlobalPoolRows[] = {
    {"GlobalAveragePool", 1, sdk::kLatest, sdk::kFloats, sdk::make<GlobalPool<Average>>},
    {"GlobalMaxPool", 1, sdk::kLatest, sdk::kFloats, sdk::make<GlobalPool<Largest>>},
    {"GlobalLpPool", 1, sdk::kLatest, sdk::kFloats, sdk::make<GlobalPool<Norm>>},
};

}  // namespace

sdk::KernelTable global_pool_kernels() { return sdk::table(kGlobalPoolRows); }

}  // namespace gantry::cpu
