// SPDX-License-Identifier: Apache-2.0
// Normalizations with statistics of the input: LayerNormalization, RMSNormalization,
// InstanceNormalization, GroupNormalization, LpNormalization, MeanVarianceNormalization. 16-bit
// floats are computed in f32.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attributes.h"
#include "broadcast.h"
#include "convert.h"
#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"
#include "simd/row_math.h"

namespace gantry::cpu {
namespace {

/// Least number of elements for a thread.
constexpr int64_t kNormGrain = 8192;

int64_t row_grain(int64_t row) {
  return std::max<int64_t>(1, kNormGrain / std::max<int64_t>(row, 1));
}

template <class C>
C mean_of(const C* x, int64_t count) {
  if constexpr (std::is_same_v<C, float>) {
    return simd::sum(x, count) / static_cast<float>(count);
  } else {
    C total = C{0};
    for (int64_t i = 0; i < count; ++i) total += x[i];
    return total / static_cast<C>(count);
  }
}
/// Mean of (x - center)^2.
template <class C>
C mean_square(const C* x, int64_t count, C center) {
  if constexpr (std::is_same_v<C, float>) {
    return simd::sum_of_squares(x, count, center) / static_cast<float>(count);
  } else {
    C total = C{0};
    for (int64_t i = 0; i < count; ++i) total += (x[i] - center) * (x[i] - center);
    return total / static_cast<C>(count);
  }
}
/// y = (x - center) factor + offset
template <class C>
void standardize(const C* x, C* y, int64_t count, C center, C factor, C offset = C{0}) {
  if constexpr (std::is_same_v<C, float>) {
    simd::standardize(x, y, count, center, factor, offset);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = (x[i] - center) * factor + offset;
  }
}
/// y = y scale + bias; a null scale is 1, a null bias 0.
template <class C>
void scale_shift(C* y, int64_t count, const C* scale, const C* bias) {
  if (scale) {
    for (int64_t i = 0; i < count; ++i) y[i] *= scale[i];
  }
  if (bias) {
    for (int64_t i = 0; i < count; ++i) y[i] += bias[i];
  }
}

/// LayerNormalization, and without centring RMSNormalization, over all axes from `axis` on.
template <bool kCenters>
class LayerNorm final : public NodeKernel {
 public:
  explicit LayerNorm(const sdk::NodeView& node)
      : NodeKernel(node),
        axis_(node.get_int("axis", -1)),
        epsilon_(node.get_float("epsilon", 1e-5F)) {
    stash_type_ = node.get_int("stash_type", GANTRY_FLOAT) == GANTRY_BFLOAT16 ? GANTRY_BFLOAT16
                                                                              : GANTRY_FLOAT;
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    const int axis = checked_axis(axis_, x.rank);
    // The output of RMSNormalization has the type of its scale.
    const uint32_t dtype = call.input(kCenters ? 0 : 1).dtype;
    gantry_tensor& output = call.output(0, dtype, x);
    Dims reduced(x);
    for (int i = axis; i < x.rank; ++i) reduced[i] = 1;
    const int64_t rows = count_of(reduced.shape());
    void* means = call.wants(1) ? call.output(1, stash_type_, reduced.shape()).data : nullptr;
    void* factors = call.wants(2) ? call.output(2, stash_type_, reduced.shape()).data : nullptr;
    const Rows layout = {rows, count_of({x.data + axis, x.rank - axis})};
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      dispatch<FloatTypes>(dtype, [&](auto out_type) {
        compute<T, typename decltype(out_type)::type>(call, layout, output, means, factors);
      });
    });
  }

 private:
  struct Rows {
    int64_t count;
    int64_t extent;
  };

  template <class T, class U>
  void compute(sdk::Call& call, const Rows& rows, gantry_tensor& output, void* means,
               void* factors) const {
    using C =
        std::conditional_t<std::is_same_v<T, double> || std::is_same_v<U, double>, double, float>;
    const C* x = as<C, T>(call, 0);
    const C* scale = as<C, U>(call, 1);
    const bool has_bias = kCenters && call.has_input(2);
    const C* bias = has_bias ? as<C, U>(call, 2) : nullptr;
    C* y = std::is_same_v<C, U> ? static_cast<C*>(output.data)
                                : call.scratch<C>(rows.count * rows.extent);
    const bool is_plain = is_per_row(call, 1) && (!has_bias || is_per_row(call, 2));
    call.parallel_for(rows.count, row_grain(rows.extent), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const C* source = x + i * rows.extent;
        C* target = y + i * rows.extent;
        const C center = kCenters ? mean_of(source, rows.extent) : C{0};
        const C factor =
            C{1} / std::sqrt(mean_square(source, rows.extent, center) + static_cast<C>(epsilon_));
        store(means, i, static_cast<float>(center));
        store(factors, i, static_cast<float>(factor));
        if constexpr (std::is_same_v<C, float>) {
          simd::normalize(source, target, rows.extent, center, factor, is_plain ? scale : nullptr,
                          is_plain ? bias : nullptr);
        } else {
          standardize(source, target, rows.extent, center, factor);
          if (is_plain) scale_shift(target, rows.extent, scale, bias);
        }
      }
    });
    if (!is_plain) {
      apply_broadcast(call, 1, y, scale, [](C a, C b) { return a * b; });
      if (has_bias) apply_broadcast(call, 2, y, bias, [](C a, C b) { return a + b; });
    }
    if constexpr (!std::is_same_v<C, U>) {
      auto* target = static_cast<U*>(output.data);
      call.parallel_for(rows.count * rows.extent, kConvertGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          target[i] = static_cast<U>(static_cast<Compute<U>>(y[i]));
      });
    }
  }

  /// The elements of an input of T as C.
  template <class C, class T>
  static const C* as(sdk::Call& call, int slot) {
    if constexpr (std::is_same_v<C, Compute<T>>) {
      return widened<T>(call, call.input(slot));
    } else {
      return read_as<TypeList<T>, C>(call, slot);
    }
  }
  /// True if the scale or bias in `slot` has one element for each element of a row, so that all
  /// rows share it.
  [[nodiscard]] bool is_per_row(sdk::Call& call, int slot) const {
    const sdk::Shape x = call.shape(0);
    const int axis = checked_axis(axis_, x.rank);
    return without_ones(call.shape(slot)) == without_ones({x.data + axis, x.rank - axis});
  }
  static sdk::Shape without_ones(sdk::Shape shape) {
    int skipped = 0;
    while (skipped < shape.rank && shape[skipped] == 1) ++skipped;
    return {shape.data + skipped, shape.rank - skipped};
  }

  template <class C, class Join>
  void apply_broadcast(sdk::Call& call, int slot, C* y, const C* operand, Join join) const {
    const Broadcast<2> plan({call.shape(0), call.shape(slot)}, label());
    if (plan.shape() != call.shape(0)) {
      fail("input " + std::to_string(slot) + " of shape " + to_string(call.shape(slot)) +
           " cannot be broadcast to " + to_string(call.shape(0)));
    }
    plan.for_each_run(0, plan.count(), [&](const auto& run) {
      const C* b = operand + run.inputs[1];
      for (int64_t i = 0; i < run.count; ++i) {
        y[run.output + i] = join(y[run.output + i], b[i * plan.inner_stride(1)]);
      }
    });
  }

  void store(void* target, int64_t index, float value) const {
    if (!target) return;
    if (stash_type_ == GANTRY_BFLOAT16) {
      static_cast<BFloat16*>(target)[index] = BFloat16(value);
    } else {
      static_cast<float*>(target)[index] = value;
    }
  }

  int64_t axis_;
  float epsilon_;
  uint32_t stash_type_;
};

/// InstanceNormalization and GroupNormalization: normalizes each group of channels of a sample.
class GroupNorm final : public NodeKernel {
 public:
  enum class Scale { kPerChannel, kPerGroup };
  /// `groups` 0: one group for each channel.
  GroupNorm(const sdk::NodeView& node, int64_t groups, Scale scale)
      : NodeKernel(node),
        groups_(groups),
        scale_(scale),
        epsilon_(node.get_float("epsilon", 1e-5F)) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    if (x.rank < 2) fail("input 0 has rank " + std::to_string(x.rank) + ", needs at least 2");
    const int64_t channels = x[1];
    const int64_t groups = groups_ > 0 ? groups_ : channels;
    if (groups > 0 && channels % groups != 0) {
      fail(std::to_string(channels) + " channels cannot be divided into " + std::to_string(groups) +
           " groups");
    }
    const int64_t scales = scale_ == Scale::kPerGroup ? groups : channels;
    for (int slot = 1; slot < 3; ++slot) {
      if (call.shape(slot).rank != 1 || call.shape(slot)[0] != scales) {
        fail("input " + std::to_string(slot) + " has shape " + to_string(call.shape(slot)) +
             ", needs [" + std::to_string(scales) + "]");
      }
      if (call.input(slot).dtype != call.input(0).dtype)
        fail("the inputs must have one element type");
    }
    gantry_tensor& output = call.output(0, call.input(0).dtype, x);
    if (x.element_count() == 0) return;
    const Layout layout = {x[0] * groups, groups, channels / groups, x.count(2, x.rank)};
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      compute<typename decltype(type)::type>(call, layout, output);
    });
  }

 private:
  struct Layout {
    int64_t rows;
    int64_t groups;
    int64_t channels;  ///< channels of a group
    int64_t plane;
  };

  template <class T>
  void compute(sdk::Call& call, const Layout& layout, gantry_tensor& output) const {
    using C = Compute<T>;
    const C* x = widened<T>(call, call.input(0));
    const C* scale = widened<T>(call, call.input(1));
    const C* bias = widened<T>(call, call.input(2));
    C* y = wide_output<T>(call, output);
    const int64_t extent = layout.channels * layout.plane;
    call.parallel_for(layout.rows, row_grain(extent), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const C* source = x + row * extent;
        const C center = mean_of(source, extent);
        const C factor =
            C{1} / std::sqrt(mean_square(source, extent, center) + static_cast<C>(epsilon_));
        const int64_t group = row % layout.groups;
        for (int64_t c = 0; c < layout.channels; ++c) {
          const int64_t parameter =
              scale_ == Scale::kPerGroup ? group : group * layout.channels + c;
          C* target = y + row * extent + c * layout.plane;
          standardize(source + c * layout.plane, target, layout.plane, center,
                      factor * scale[parameter], bias[parameter]);
        }
      }
    });
    narrow<T>(call, y, output);
  }

  int64_t groups_;
  Scale scale_;
  float epsilon_;
};

std::unique_ptr<sdk::Kernel> make_instance_norm(const sdk::NodeView& node) {
  return std::make_unique<GroupNorm>(node, 0, GroupNorm::Scale::kPerChannel);
}
/// Version 18 has a scale for each group, version 21 one for each channel.
std::unique_ptr<sdk::Kernel> make_group_norm(const sdk::NodeView& node) {
  const int64_t groups = read_integer(node, "num_groups", 0, 1);
  const bool is_old = node.since_version() < 21;
  return std::make_unique<GroupNorm>(
      node, groups, is_old ? GroupNorm::Scale::kPerGroup : GroupNorm::Scale::kPerChannel);
}

/// y = x / ||x||_p along an axis; where the norm is 0, y is 0.
class LpNorm final : public NodeKernel {
 public:
  explicit LpNorm(const sdk::NodeView& node)
      : NodeKernel(node), axis_(node.get_int("axis", -1)), p_(read_integer(node, "p", 2, 1, 2)) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    const int axis = checked_axis(axis_, x.rank);
    gantry_tensor& output = call.output(0, call.input(0).dtype, x);
    if (x.element_count() == 0) return;
    const int64_t inner = x.count(axis + 1, x.rank);
    const int64_t extent = x[axis];
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const T* source = call.data<T>(0);
      auto* target = static_cast<T*>(output.data);
      call.parallel_for(x.count(0, axis) * inner, row_grain(extent),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            const int64_t at = i / inner * extent * inner + i % inner;
                            normalize(source + at, target + at, extent, inner);
                          }
                        });
    });
  }

 private:
  template <class T>
  void normalize(const T* x, T* y, int64_t count, int64_t step) const {
    using C = Compute<T>;
    C total = C{0};
    for (int64_t i = 0; i < count; ++i) {
      const C value = static_cast<C>(x[i * step]);
      total += p_ == 1 ? std::fabs(value) : value * value;
    }
    const C norm = p_ == 1 ? total : std::sqrt(total);
    for (int64_t i = 0; i < count; ++i) {
      y[i * step] = static_cast<T>(norm == C{0} ? C{0} : static_cast<C>(x[i * step]) / norm);
    }
  }

  int64_t axis_;
  int64_t p_;
};

/// y = (x - mean) / standard deviation over any set of axes; sums are accumulated in f64.
class MeanVarianceNorm final : public NodeKernel {
 public:
  explicit MeanVarianceNorm(const sdk::NodeView& node)
      : NodeKernel(node), axes_(node.get_ints("axes", {0, 2, 3})) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    gantry_tensor& output = call.output(0, call.input(0).dtype, x);
    if (x.element_count() == 0) return;
    // The statistics are a tensor that broadcasts to x.
    Dims shape(x);
    for (const int64_t axis : axes_) shape[checked_axis(axis, x.rank)] = 1;
    const Broadcast<2> plan({x, shape.shape()}, label());
    const int64_t groups = shape.shape().element_count();
    auto* mean = call.scratch<double>(groups);
    auto* spread = call.scratch<double>(groups);
    const int64_t share = x.element_count() / groups;
    const auto count = static_cast<double>(share);
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const T* source = call.data<T>(0);
      auto* target = static_cast<T*>(output.data);
      measure(plan, source, groups, count, mean, spread);
      call.parallel_for(plan.count(), kNormGrain, [&](int64_t begin, int64_t end) {
        plan.for_each_run(begin, end, [&](const auto& run) {
          const double* center = mean + run.inputs[1];
          const double* factor = spread + run.inputs[1];
          standardize_run(source + run.output, target + run.output, run.count, center, factor,
                          plan.inner_stride(1));
        });
      });
    });
  }

 private:
  /// Added to the standard deviation, as in the ONNX function body.
  static constexpr double kEpsilon = 1e-9;

  template <class T>
  static double wide(T x) {
    return static_cast<double>(static_cast<Compute<T>>(x));
  }
  template <class T>
  static void standardize_run(const T* x, T* y, int64_t count, const double* center,
                              const double* factor, int64_t step) {
    const auto one = [&](int64_t i, double middle, double scale) {
      y[i] = static_cast<T>(static_cast<Compute<T>>((wide(x[i]) - middle) * scale));
    };
    if (step != 0) {
      for (int64_t i = 0; i < count; ++i) one(i, center[i], factor[i]);
    } else {
      const double middle = *center;
      const double scale = *factor;
      for (int64_t i = 0; i < count; ++i) one(i, middle, scale);
    }
  }
  /// Adds value(x, group) of every element to the total of its group.
  template <class T, class Value>
  static void add_up(const Broadcast<2>& plan, const T* x, double* totals, Value&& value) {
    plan.for_each_run(0, plan.count(), [&](const auto& run) {
      const T* from = x + run.output;
      const int64_t group = run.inputs[1];
      if (plan.inner_stride(1) != 0) {
        for (int64_t i = 0; i < run.count; ++i) totals[group + i] += value(from[i], group + i);
        return;
      }
      // Several accumulators hide the latency of additions.
      constexpr int64_t kLanes = 8;
      double lanes[kLanes] = {};
      int64_t i = 0;
      for (; i + kLanes <= run.count; i += kLanes) {
        for (int64_t k = 0; k < kLanes; ++k) lanes[k] += value(from[i + k], group);
      }
      for (; i < run.count; ++i) lanes[0] += value(from[i], group);
      for (const double lane : lanes) totals[group] += lane;
    });
  }
  /// mean, and 1 / deviation in `spread`.
  template <class T>
  static void measure(const Broadcast<2>& plan, const T* x, int64_t groups, double count,
                      double* mean, double* spread) {
    std::fill_n(mean, groups, 0.0);
    std::fill_n(spread, groups, 0.0);
    add_up(plan, x, mean, [](T element, int64_t /*group*/) { return wide(element); });
    for (int64_t g = 0; g < groups; ++g) mean[g] /= count;
    add_up(plan, x, spread, [mean](T element, int64_t group) {
      const double difference = wide(element) - mean[group];
      return difference * difference;
    });
    for (int64_t g = 0; g < groups; ++g)
      spread[g] = 1.0 / (std::sqrt(spread[g] / count) + kEpsilon);
  }

  std::vector<int64_t> axes_;
};

constexpr sdk::KernelRow kNormRows[] = {
    {"LayerNormalization", 17, sdk::kLatest, sdk::kFloats, sdk::make<LayerNorm<true>>},
    {"RMSNormalization", 23, sdk::kLatest, sdk::kFloats, sdk::make<LayerNorm<false>>},
    {"InstanceNormalization", 1, sdk::kLatest, sdk::kFloats, make_instance_norm},
    {"GroupNormalization", 18, sdk::kLatest, sdk::kFloats, make_group_norm},
    {"LpNormalization", 1, sdk::kLatest, sdk::kFloats, sdk::make<LpNorm>},
    {"MeanVarianceNormalization", 9, sdk::kLatest, sdk::kFloats, sdk::make<MeanVarianceNorm>},
};

}  // namespace

sdk::KernelTable norm_kernels() { return sdk::table(kNormRows); }

}  // namespace gantry::cpu
