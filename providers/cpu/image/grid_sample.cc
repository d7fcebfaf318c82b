// SPDX-License-Identifier: Apache-2.0
// GridSample (opset 16): samples an image at the positions of a grid, by nearest, linear or cubic
// interpolation. Floats are computed in their compute type, integers and booleans in f64. Strings
// take the nearest element in every mode.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "attributes.h"
#include "dispatch.h"
#include "elements.h"
#include "families.h"
#include "image/tap_math.h"
#include "integer_math.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

enum class Mode { kNearest, kLinear, kCubic };
enum class Padding { kZeros, kBorder, kReflection };

/// Largest number of spatial axes, and of elements that one sample reads.
constexpr int kMaxAxes = 8;
constexpr int kMaxTaps = 1024;
constexpr int64_t kGridSampleGrain = 4096;

/// The elements along one axis that a sample reads, and their weights; index -1 is padding.
template <class C>
struct AxisTaps {
  int count = 0;
  int64_t index[4];
  C weight[4];
};

/// `x` reflected at the borders until it lies between them.
template <class C>
C reflect(C x, C low, C high) {
  const C range = high - low;
  if (range <= C{0}) return low;
  const bool is_below = x < low;
  if (!is_below && x <= high) return x;
  const C distance = is_below ? low - x : x - high;
  const C turns = std::floor(distance / range);
  const C rest = distance - turns * range;
  const bool is_even = std::fmod(turns, C{2}) == C{0};
  return is_below == is_even ? low + rest : high - rest;
}

/// Maps grid coordinates to positions along an axis of `extent` elements.
template <class C>
struct Sampler {
  Mode mode;
  Padding padding;
  bool aligns_corners;

  AxisTaps<C> taps(C coordinate, int64_t extent) const {
    const C low = aligns_corners ? C{0} : C(-0.5);
    const C high = static_cast<C>(extent) - (aligns_corners ? C{1} : C(0.5));
    const C wide = static_cast<C>(extent);
    C x = aligns_corners ? (coordinate + C{1}) / C{2} * (wide - C{1})
                         : ((coordinate + C{1}) * wide - C{1}) / C{2};
    // Positions beyond this are outside in any case and could overflow an index.
    constexpr C kFar = C(1 << 30);
    if (!(x > -kFar)) x = -kFar;
    if (x > kFar) x = kFar;
    if (mode == Mode::kNearest) x = std::nearbyint(x);
    // Cubic interpolation applies the padding mode to each of its elements.
    if (mode != Mode::kCubic && (x < low || x > high)) {
      if (padding == Padding::kBorder) {
        x = std::clamp(x, C{0}, wide - C{1});
      } else if (padding == Padding::kReflection) {
        x = reflect(x, low, high);
      }
    }
    AxisTaps<C> taps;
    if (mode == Mode::kNearest) {
      add(taps, static_cast<int64_t>(x), extent, C{1});
      return taps;
    }
    const C floor = std::floor(x);
    const auto first = static_cast<int64_t>(floor);
    const C t = x - floor;
    if (mode == Mode::kLinear) {
      add(taps, first, extent, C{1} - t);
      add(taps, first + 1, extent, t);
    } else {
      add(taps, first - 1, extent, far_weight(t + C{1}));
      add(taps, first, extent, near_weight(t));
      add(taps, first + 1, extent, near_weight(C{1} - t));
      add(taps, first + 2, extent, far_weight(C{2} - t));
    }
    return taps;
  }

 private:
  /// Keys' cubic convolution kernel, with a = -3/4.
  static C near_weight(C x) { return (C(1.25) * x - C(2.25)) * x * x + C{1}; }
  static C far_weight(C x) { return ((C(-0.75) * x + C(3.75)) * x - C(6)) * x + C(3); }

  void add(AxisTaps<C>& taps, int64_t index, int64_t extent, C weight) const {
    if (index < 0 || index >= extent) {
      if (padding == Padding::kZeros) {
        index = -1;
      } else if (padding == Padding::kBorder) {
        index = std::clamp<int64_t>(index, 0, extent - 1);
      } else {
        const C low = aligns_corners ? C{0} : C(-0.5);
        const C high = static_cast<C>(extent) - (aligns_corners ? C{1} : C(0.5));
        index = std::clamp<int64_t>(static_cast<int64_t>(reflect(static_cast<C>(index), low, high)),
                                    0, extent - 1);
      }
    }
    taps.index[taps.count] = index;
    taps.weight[taps.count++] = weight;
  }
};

/// The elements that one sample reads: their offsets in a plane, and their weights.
template <class C>
struct SampleTaps {
  int count = 0;
  int64_t offset[kMaxTaps];
  C weight[kMaxTaps];

  /// Combines the taps of all axes by outer product; taps in the padding are left out.
  void combine(const AxisTaps<C>* axes, const int64_t* extents, int rank) {
    combine_all(axes, extents, rank);
    int kept = 0;
    for (int i = 0; i < count; ++i) {
      if (offset[i] < 0) continue;
      offset[kept] = offset[i];
      weight[kept++] = weight[i];
    }
    count = kept;
  }
  /// Likewise, but taps in the padding have offset -1.
  void combine_all(const AxisTaps<C>* axes, const int64_t* extents, int rank) {
    count = 1;
    offset[0] = 0;
    weight[0] = C{1};
    for (int axis = 0; axis < rank; ++axis) {
      const AxisTaps<C>& taps = axes[axis];
      // Backwards, so that the list can grow in place.
      int used = 0;
      const int before = count;
      for (int i = before - 1; i >= 0; --i) {
        const int64_t base = offset[i] * extents[axis];
        const C factor = weight[i];
        for (int k = taps.count - 1; k >= 0; --k) {
          const int at = i * taps.count + k;
          offset[at] = taps.index[k] < 0 || base < 0 ? -1 : base + taps.index[k];
          weight[at] = factor * taps.weight[k];
        }
        used += taps.count;
      }
      count = used;
    }
  }
};

/// The taps of a block of points in the layout of PointTaps, for sum_taps().
struct PointBlock {
  static constexpr int64_t kPoints = 64;
  static constexpr int kMostTaps = 64;
  int32_t offsets[kMostTaps * kPoints];
  float weights[kMostTaps * kPoints];

  void set(int64_t point, const SampleTaps<float>& taps) {
    for (int t = 0; t < taps.count; ++t) {
      offsets[t * kPoints + point] = static_cast<int32_t>(taps.offset[t]);
      weights[t * kPoints + point] = taps.weight[t];
    }
  }
};

class GridSample final : public NodeKernel {
 public:
  explicit GridSample(const sdk::NodeView& node)
      : NodeKernel(node),
        padding_(
            read_choice<Padding>(node, "padding_mode", "zeros", {"zeros", "border", "reflection"})),
        aligns_corners_(node.get_int("align_corners", 0) != 0) {
    // Version 16 names the modes bilinear and bicubic.
    const int mode =
        read_choice(node, "mode", "linear", {"nearest", "linear", "bilinear", "cubic", "bicubic"});
    mode_ = static_cast<Mode>((mode + 1) / 2);
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    const sdk::Shape grid = call.shape(1);
    const int rank = x.rank - 2;
    const int per_axis = takes_nearest(call.input(0).dtype) ? 1 : mode_ == Mode::kCubic ? 4 : 2;
    if (rank < 1 || grid.rank != x.rank || grid[0] != x[0] || grid[grid.rank - 1] != rank) {
      fail("a grid of shape " + to_string(grid) + " does not fit data of shape " + to_string(x) +
           "; it needs the same rank and batch, and a coordinate for each spatial axis");
    }
    if (rank > kMaxAxes || std::pow(per_axis, rank) > kMaxTaps) {
      fail("data of " + std::to_string(rank) + " spatial axes are above what is supported",
           GANTRY_UNSUPPORTED);
    }
    Dims shape;
    shape.push(x[0]);
    shape.push(x[1]);
    for (int i = 1; i < grid.rank - 1; ++i) shape.push(grid[i]);
    UnitWriter output(call, 0, call.input(0).dtype, shape.shape());
    const int64_t count = count_of(shape.shape());
    if (count > 0 && x.count(2, x.rank) == 0) fail("the data have no elements to sample");
    if (count > 0) {
      dispatch<FloatTypes>(call.input(1).dtype, [&](auto type) {
        sample_typed<typename decltype(type)::type>(call, output);
      });
    }
    output.finish();
  }

 private:
  [[nodiscard]] bool takes_nearest(uint32_t dtype) const {
    return mode_ == Mode::kNearest || dtype == GANTRY_STRING;
  }

  template <class G>
  void sample_typed(sdk::Call& call, UnitWriter& output) const {
    const uint32_t dtype = call.input(0).dtype;
    const std::byte* units = read_units(call, 0);
    if (takes_nearest(dtype)) {
      return dispatch_unit(dtype, [&](auto unit) {
        using U = typename decltype(unit)::type;
        using C = Compute<G>;
        sample<G, C>(call, [source = reinterpret_cast<const U*>(units), target = output.as<U>()](
                               const SampleTaps<C>& taps, int64_t plane, int64_t at) {
          target[at] = taps.count ? source[plane + taps.offset[0]] : U{};
        });
      });
    }
    if constexpr (std::is_same_v<G, float>) {
      if (dtype == GANTRY_FLOAT && fits_blocks(call.shape(0)))
        return sample_blocks(call, call.data<float>(0), output.as<float>());
    }
    dispatch<Concat<NumberTypes, ComplexTypes, TypeList<Boolean>>>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      using C = std::conditional_t<std::is_integral_v<Compute<T>> || std::is_same_v<T, double>,
                                   double, Compute<G>>;
      sample<G, C>(call, [source = reinterpret_cast<const T*>(units), target = output.as<T>()](
                             const SampleTaps<C>& taps, int64_t plane, int64_t at) {
        target[at] = interpolate<T, C>(source + plane, taps);
      });
    });
  }

  /// Booleans are interpolated as 0 and 1; a result other than 0 is true.
  template <class T, class C>
  static T interpolate(const T* source, const SampleTaps<C>& taps) {
    if constexpr (std::is_arithmetic_v<Compute<T>>) {
      C sum = C{0};
      for (int i = 0; i < taps.count; ++i)
        sum += taps.weight[i] * static_cast<C>(static_cast<Compute<T>>(source[taps.offset[i]]));
      if constexpr (std::is_same_v<T, Boolean>) {
        return Boolean(sum != C{0});
      } else if constexpr (std::is_integral_v<T>) {
        return to_integer<T>(sum);
      } else {
        return static_cast<T>(static_cast<Compute<T>>(sum));
      }
    } else {
      using R = typename T::value_type;
      T sum{};
      for (int i = 0; i < taps.count; ++i)
        sum += static_cast<R>(taps.weight[i]) * source[taps.offset[i]];
      return sum;
    }
  }

  [[nodiscard]] bool fits_blocks(sdk::Shape x) const {
    const double taps = std::pow(mode_ == Mode::kCubic ? 4 : 2, x.rank - 2);
    return taps <= PointBlock::kMostTaps && x.count(2, x.rank) <= (int64_t{1} << 31) - 1;
  }

  /// Linear and cubic interpolation of f32: a block of points at a time, each channel with SIMD.
  void sample_blocks(sdk::Call& call, const float* x, float* y) const {
    const sdk::Shape shape = call.shape(0);
    const sdk::Shape grid = call.shape(1);
    const int rank = shape.rank - 2;
    const int64_t channels = shape[1];
    const int64_t plane = shape.count(2, shape.rank);
    const int64_t points = grid.count(1, grid.rank - 1);
    const int64_t blocks = (points + PointBlock::kPoints - 1) / PointBlock::kPoints;
    const auto* coordinates = call.data<float>(1);
    const int64_t work = PointBlock::kPoints * std::max<int64_t>(channels, 1);
    call.parallel_for(shape[0] * blocks, std::max<int64_t>(1, kGridSampleGrain / work),
                      [&](int64_t begin, int64_t end) {
                        PointBlock block;
                        SampleTaps<float> taps;
                        for (int64_t i = begin; i < end; ++i) {
                          const int64_t batch = i / blocks;
                          const int64_t first = i % blocks * PointBlock::kPoints;
                          const int64_t count = std::min(PointBlock::kPoints, points - first);
                          for (int64_t p = 0; p < count; ++p) {
                            find_taps(coordinates + (batch * points + first + p) * rank,
                                      shape.data + 2, rank, taps);
                            block.set(p, taps);
                          }
                          const simd::PointTaps all = {block.offsets, block.weights,
                                                       PointBlock::kPoints, taps.count};
                          for (int64_t c = batch * channels; c < (batch + 1) * channels; ++c)
                            simd::sum_taps(x + c * plane, all, y + c * points + first, count);
                        }
                      });
  }
  /// Computes the taps of one point; its coordinates are in order from the innermost axis.
  void find_taps(const float* coordinates, const int64_t* extents, int rank,
                 SampleTaps<float>& taps) const {
    const Sampler<float> sampler = {mode_, padding_, aligns_corners_};
    AxisTaps<float> axes[kMaxAxes];
    for (int axis = 0; axis < rank; ++axis)
      axes[axis] = sampler.taps(coordinates[rank - 1 - axis], extents[axis]);
    taps.combine_all(axes, extents, rank);
  }

  /// Calls store(taps, first element of the plane, output element) for every output element.
  template <class G, class C, class Store>
  void sample(sdk::Call& call, Store store) const {
    const sdk::Shape x = call.shape(0);
    const sdk::Shape grid = call.shape(1);
    const int rank = x.rank - 2;
    const int64_t channels = x[1];
    const int64_t plane = x.count(2, x.rank);
    const int64_t points = grid.count(1, grid.rank - 1);
    const auto* coordinates = call.data<G>(1);
    const Mode mode = takes_nearest(call.input(0).dtype) ? Mode::kNearest : mode_;
    const Sampler<C> sampler = {mode, padding_, aligns_corners_};
    const int64_t grain = std::max<int64_t>(1, kGridSampleGrain / std::max<int64_t>(channels, 1));
    call.parallel_for(x[0] * points, grain, [&](int64_t begin, int64_t end) {
      AxisTaps<C> axes[kMaxAxes];
      SampleTaps<C> taps;
      for (int64_t i = begin; i < end; ++i) {
        // Coordinates come innermost axis first.
        for (int axis = 0; axis < rank; ++axis) {
          const auto coordinate = static_cast<Compute<G>>(coordinates[i * rank + rank - 1 - axis]);
          axes[axis] = sampler.taps(static_cast<C>(coordinate), x[axis + 2]);
        }
        taps.combine(axes, x.data + 2, rank);
        const int64_t batch = i / points;
        for (int64_t c = 0; c < channels; ++c)
          store(taps, (batch * channels + c) * plane, (batch * channels + c) * points + i % points);
      }
    });
  }

  Mode mode_ = Mode::kLinear;
  Padding padding_;
  bool aligns_corners_;
};

/// Nearest works for any element type. Refuses the other modes for types that no schema version has
/// (float8 and narrower).
std::string check_type(const sdk::NodeView& node) {
  constexpr sdk::DTypeSet kInterpolated = sdk::kNumbers | sdk::kComplex | sdk::kBool | sdk::kString;
  const uint32_t dtype = node.input(0).dtype();
  const bool moves = node.get_string("mode", "linear") == "nearest";
  if (moves || dtype == GANTRY_UNDEFINED || (sdk::dtype_bit(dtype) & kInterpolated)) return {};
  return "elements of type " + std::to_string(dtype) +
         " (ONNX TensorProto number) cannot be interpolated, only the nearest can be taken";
}

constexpr sdk::KernelRow kGridSampleRows[] = {
    {"GridSample", 16, sdk::kLatest, sdk::kAllTypes, sdk::make<GridSample>, {}, check_type},
};

}  // namespace

sdk::KernelTable grid_sample_kernels() { return sdk::table(kGridSampleRows); }

}  // namespace gantry::cpu
