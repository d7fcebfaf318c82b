// SPDX-License-Identifier: Apache-2.0
// BatchNormalization, with given statistics or, in training mode, with those of the batch. X, scale
// and statistics may have three different element types. Sums are accumulated in f64.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>

#include "convert.h"
#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"
#include "simd/row_math.h"

namespace gantry::cpu {
namespace {

/// Least number of elements for a thread.
constexpr int64_t kBatchNormGrain = 32768;

/// Differences between operator versions.
struct Rules {
  bool is_training = false;
  bool is_per_channel = true;  ///< false: per element of a sample
  /// Versions before 14 wrote the statistics of the batch to two further outputs, with the divisor
  /// n - 1 for the running variance.
  bool saves_batch = false;
};

class BatchNorm final : public NodeKernel {
 public:
  BatchNorm(const sdk::NodeView& node, Rules rules)
      : NodeKernel(node),
        rules_(rules),
        epsilon_(node.get_float("epsilon", 1e-5F)),
        momentum_(node.get_float("momentum", 0.9F)) {}

  void run(sdk::Call& call) const override {
    const Layout layout = resolve(call);
    gantry_tensor& output = call.output(0, call.input(0).dtype, call.shape(0));
    const bool is_double =
        call.input(0).dtype == GANTRY_DOUBLE || call.input(3).dtype == GANTRY_DOUBLE;
    is_double ? run_in<double>(call, layout, output) : run_in<float>(call, layout, output);
  }

 private:
  /// x is [batch, channels, plane].
  struct Layout {
    int64_t batch;
    int64_t channels;
    int64_t plane;
  };

  [[nodiscard]] Layout resolve(sdk::Call& call) const {
    const sdk::Shape x = call.shape(0);
    if (x.rank < 1) fail("input 0 is a scalar, needs at least one axis");
    // Rank 1: [N] is treated as [N, 1].
    Layout layout = {x[0], 1, 1};
    if (x.rank > 1) {
      const int64_t rest = count_of({x.data + 2, x.rank - 2});
      layout.channels = rules_.is_per_channel ? x[1] : count_of({x.data + 1, x.rank - 1});
      layout.plane = rules_.is_per_channel ? rest : 1;
    }
    for (int slot = 1; slot < 5; ++slot) {
      if (count_of(call.shape(slot)) != layout.channels) {
        fail("input " + std::to_string(slot) + " has shape " + to_string(call.shape(slot)) +
             ", needs " + std::to_string(layout.channels) + " elements for input 0 of shape " +
             to_string(x));
      }
    }
    return layout;
  }

  template <class C>
  void run_in(sdk::Call& call, const Layout& layout, gantry_tensor& output) const {
    const int64_t channels = layout.channels;
    const C* scale = read_as<FloatTypes, C>(call, 1);
    const C* bias = read_as<FloatTypes, C>(call, 2);
    const C* mean = read_as<FloatTypes, C>(call, 3);
    const C* variance = read_as<FloatTypes, C>(call, 4);
    if (rules_.is_training) {
      auto* batch_mean = call.scratch<C>(channels);
      auto* batch_variance = call.scratch<C>(channels);
      measure(call, layout, batch_mean, batch_variance);
      write_running(call, layout, mean, batch_mean, 1, 3);
      write_running(call, layout, variance, batch_variance, 2, 4);
      if (rules_.saves_batch) {
        write(call, 3, 3, channels, [&](int64_t i) { return batch_mean[i]; });
        write(call, 4, 4, channels, [&](int64_t i) { return batch_variance[i]; });
      }
      mean = batch_mean;
      variance = batch_variance;
    }
    auto* factor = call.scratch<C>(channels);
    auto* offset = call.scratch<C>(channels);
    for (int64_t i = 0; i < channels; ++i) {
      factor[i] = scale[i] / std::sqrt(variance[i] + static_cast<C>(epsilon_));
      offset[i] = bias[i] - mean[i] * factor[i];
    }
    apply(call, layout, factor, offset, output);
  }

  /// Mean and variance of each channel over the batch.
  template <class C>
  static void measure(sdk::Call& call, const Layout& layout, C* mean, C* variance) {
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const T* x = call.data<T>(0);
      const int64_t grain =
          std::max<int64_t>(1, kBatchNormGrain / std::max<int64_t>(1, layout.batch * layout.plane));
      call.parallel_for(layout.channels, grain, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const Statistics found = measure_channel(layout, x, c);
          mean[c] = static_cast<C>(found.mean);
          variance[c] = static_cast<C>(found.variance);
        }
      });
    });
  }
  struct Statistics {
    double mean;
    double variance;
  };
  template <class T>
  static Statistics measure_channel(const Layout& layout, const T* x, int64_t channel) {
    const double count = static_cast<double>(layout.batch) * static_cast<double>(layout.plane);
    const double mean = fold(layout, x, channel, [](double v) { return v; }) / count;
    const double spread =
        fold(layout, x, channel, [mean](double v) { return (v - mean) * (v - mean); });
    return {mean, spread / count};
  }
  /// The SIMD form for f32. Short chunks are summed in f32, their sums in f64. The second pass sums
  /// differences from an estimate of the mean, to avoid cancellation.
  static Statistics measure_channel(const Layout& layout, const float* x, int64_t channel) {
    const double count = static_cast<double>(layout.batch) * static_cast<double>(layout.plane);
    double sum = 0;
    visit_stretches(layout, x, channel,
                    [&](const float* part, int64_t n) { sum += simd::sum(part, n); });
    const auto center = static_cast<float>(sum / count);
    double first = 0;
    double second = 0;
    visit_stretches(layout, x, channel, [&](const float* part, int64_t n) {
      const simd::Moments found = simd::moments(part, n, center);
      first += found.first;
      second += found.second;
    });
    const double rest = first / count;
    return {center + rest, second / count - rest * rest};
  }
  /// Calls visit(first element, count) for the planes of a channel.
  template <class Visit>
  static void visit_stretches(const Layout& layout, const float* x, int64_t channel, Visit visit) {
    constexpr int64_t kStretch = 1024;
    for (int64_t n = 0; n < layout.batch; ++n) {
      const float* plane = x + (n * layout.channels + channel) * layout.plane;
      for (int64_t i = 0; i < layout.plane; i += kStretch)
        visit(plane + i, std::min(kStretch, layout.plane - i));
    }
  }
  template <class T, class Term>
  static double fold(const Layout& layout, const T* x, int64_t channel, Term term) {
    // Several accumulators hide the latency of additions.
    constexpr int64_t kLanes = 8;
    double lanes[kLanes] = {};
    const auto wide = [&](T v) { return term(static_cast<double>(static_cast<Compute<T>>(v))); };
    for (int64_t n = 0; n < layout.batch; ++n) {
      const T* plane = x + (n * layout.channels + channel) * layout.plane;
      int64_t i = 0;
      for (; i + kLanes <= layout.plane; i += kLanes) {
        for (int64_t k = 0; k < kLanes; ++k) lanes[k] += wide(plane[i + k]);
      }
      for (; i < layout.plane; ++i) lanes[0] += wide(plane[i]);
    }
    return std::accumulate(lanes, lanes + kLanes, 0.0);
  }

  template <class Value>
  static void write(sdk::Call& call, int slot, int like, int64_t channels, Value value) {
    if (!call.wants(slot)) return;
    const uint32_t dtype = call.input(like).dtype;
    gantry_tensor& output = call.output(slot, dtype, call.shape(like));
    dispatch<FloatTypes>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* target = static_cast<T*>(output.data);
      for (int64_t i = 0; i < channels; ++i)
        target[i] = static_cast<T>(static_cast<Compute<T>>(value(i)));
    });
  }
  template <class C>
  void write_running(sdk::Call& call, const Layout& layout, const C* given, const C* measured,
                     int slot, int like) const {
    const C keep = static_cast<C>(momentum_);
    write(call, slot, like, layout.channels,
          [&](int64_t i) { return given[i] * keep + measured[i] * (C{1} - keep); });
  }

  template <class C>
  static void apply(sdk::Call& call, const Layout& layout, const C* factor, const C* offset,
                    gantry_tensor& output) {
    dispatch<FloatTypes>(output.dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const T* x = call.data<T>(0);
      auto* y = static_cast<T*>(output.data);
      const int64_t grain =
          std::max<int64_t>(1, kBatchNormGrain / std::max<int64_t>(layout.plane, 1));
      call.parallel_for(layout.batch * layout.channels, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t c = i % layout.channels;
          apply_plane(x + i * layout.plane, y + i * layout.plane, layout.plane, factor[c],
                      offset[c]);
        }
      });
    });
  }
  template <class T, class C>
  static void apply_plane(const T* x, T* y, int64_t count, C factor, C offset) {
    if constexpr (std::is_same_v<T, float> && std::is_same_v<C, float>) {
      if (count >= 8) return simd::affine(x, y, count, factor, offset);
    }
    for (int64_t i = 0; i < count; ++i) {
      const C value = static_cast<C>(static_cast<Compute<T>>(x[i])) * factor + offset;
      y[i] = static_cast<T>(static_cast<Compute<T>>(value));
    }
  }

  Rules rules_;
  float epsilon_;
  float momentum_;
};

/// Versions 1 and 6: attributes `is_test` and `spatial`.
std::unique_ptr<sdk::Kernel> make_with_is_test(const sdk::NodeView& node) {
  const Rules rules = {node.get_int("is_test", 0) == 0 && node.output_count() > 1,
                       node.get_int("spatial", 1) != 0, true};
  return std::make_unique<BatchNorm>(node, rules);
}
/// Versions 7 and 9: more than one output selects training. Version 9 has no attribute `spatial`.
std::unique_ptr<sdk::Kernel> make_by_outputs(const sdk::NodeView& node) {
  const bool is_per_channel = node.since_version() >= 9 || node.get_int("spatial", 1) != 0;
  return std::make_unique<BatchNorm>(node, Rules{node.output_count() > 1, is_per_channel, true});
}
std::unique_ptr<sdk::Kernel> make_by_attribute(const sdk::NodeView& node) {
  return std::make_unique<BatchNorm>(node,
                                     Rules{node.get_int("training_mode", 0) != 0, true, false});
}

constexpr sdk::KernelRow kBatchNormRows[] = {
    {"BatchNormalization", 1, 6, sdk::kFloats, make_with_is_test, {.overwrites = 1}},
    {"BatchNormalization", 7, 13, sdk::kFloats, make_by_outputs, {.overwrites = 1}},
    {"BatchNormalization", 14, sdk::kLatest, sdk::kFloats, make_by_attribute, {.overwrites = 1}},
};

}  // namespace

sdk::KernelTable batch_norm_kernels() { return sdk::table(kBatchNormRows); }

}  // namespace gantry::cpu
