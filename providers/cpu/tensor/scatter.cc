// SPDX-License-Identifier: Apache-2.0
// Scatter, ScatterElements, ScatterND and TensorScatter: write updates by index into a copy of the
// data. Updates are applied in order, so that the last one to an element wins, or all are reduced.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "attributes.h"
#include "elements.h"
#include "families.h"
#include "node_kernel.h"
#include "tensor/indices.h"
#include "tensor/strided_copy.h"

namespace gantry::cpu {

namespace {

enum class Reduction { kNone, kAdd, kMul, kMin, kMax };

/// True if `a` is less than `b`; complex numbers compare by their real parts first.
template <class C>
bool is_before(C a, C b) {
  return a < b;
}
template <class R>
bool is_before(std::complex<R> a, std::complex<R> b) {
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}

/// Selects `update` or `old` without a branch, which would be mispredicted.
template <class T>
T chosen(bool takes_update, T update, T old) {
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const Bits mask = Bits{0} - static_cast<Bits>(takes_update);
    const auto from = std::bit_cast<Bits>(update);
    const auto to = std::bit_cast<Bits>(old);
    return std::bit_cast<T>((from & mask) | (to & ~mask));
  } else {
    return takes_update ? update : old;
  }
}

/// The value of an element after an update.
template <Reduction kReduction>
struct Reducer {
  template <class T>
  T operator()(T old, T update) const {
    using C = Compute<T>;
    const C a = static_cast<C>(old);
    const C b = static_cast<C>(update);
    if constexpr (kReduction == Reduction::kAdd) {
      return static_cast<T>(a + b);
    } else if constexpr (kReduction == Reduction::kMul) {
      return static_cast<T>(a * b);
    } else {
      // A NaN on either side stays.
      const bool is_beyond = kReduction == Reduction::kMin ? is_before(b, a) : is_before(a, b);
      const int takes_update =
          (static_cast<int>(b != b) | static_cast<int>(is_beyond)) & static_cast<int>(a == a);
      return chosen(takes_update != 0, update, old);
    }
  }
};

std::string_view view_of(gantry_str text) { return {text.data, static_cast<size_t>(text.length)}; }

/// The same for strings: they are concatenated, or compared byte by byte.
gantry_str reduced_text(sdk::Call& call, Reduction reduction, gantry_str old, gantry_str update) {
  if (reduction == Reduction::kMin) return view_of(update) < view_of(old) ? update : old;
  if (reduction == Reduction::kMax) return view_of(update) > view_of(old) ? update : old;
  const uint64_t length = old.length + update.length;
  char* joined = call.scratch<char>(static_cast<int64_t>(length));
  std::copy_n(update.data, update.length, std::copy_n(old.data, old.length, joined));
  return {joined, length};
}

class ScatterKernel : public NodeKernel {
 protected:
  explicit ScatterKernel(const sdk::NodeView& node)
      : NodeKernel(node),
        reduction_(read_choice<Reduction>(node, "reduction", "none",
                                          {"none", "add", "mul", "min", "max"})) {}

  [[nodiscard]] Reduction reduction() const { return reduction_; }

  /// Output 0, initialised with the units of the data.
  UnitWriter copied_data(sdk::Call& call) const {
    const uint32_t dtype = call.input(0).dtype;
    UnitWriter output(call, 0, dtype, call.shape(0));
    copy_bytes(call, output.data(), read_units(call, 0),
               call.shape(0).element_count() * unit_bytes(dtype));
    return output;
  }
  /// The units of an input, copied if they share memory with `target`: a model may use one value as
  /// data and also as indices or updates, and the output may overwrite it.
  static const std::byte* units_apart(sdk::Call& call, int slot, const std::byte* target) {
    const std::byte* units = read_units(call, slot);
    if (units != target) return units;
    const int64_t bytes = call.shape(slot).element_count() * unit_bytes(call.input(slot).dtype);
    auto* copy = call.scratch<std::byte>(bytes);
    std::memcpy(copy, units, static_cast<size_t>(bytes));
    return copy;
  }
  static Indices indices_apart(sdk::Call& call, const std::byte* target) {
    return {call.input(1).dtype, units_apart(call, 1, target)};
  }

  /// Calls f(Type<T>{}, reduce): T is the element type, or its unit type if elements are only
  /// copied; reduce(old, update) is the new value of an element.
  template <class F>
  void with_reduction(sdk::Call& call, F&& f) const {
    const uint32_t dtype = call.input(0).dtype;
    if (reduction_ == Reduction::kNone) {
      return dispatch_unit(
          dtype, [&](auto type) { f(type, [](auto /*old*/, auto update) { return update; }); });
    }
    if (dtype == GANTRY_STRING) {
      return f(Type<gantry_str>{}, [&](gantry_str old, gantry_str update) {
        return reduced_text(call, reduction_, old, update);
      });
    }
    dispatch<Concat<NumberTypes, BoolTypes, ComplexTypes>>(dtype, [&](auto type) {
      switch (reduction_) {
        case Reduction::kAdd:
          return f(type, Reducer<Reduction::kAdd>());
        case Reduction::kMul:
          return f(type, Reducer<Reduction::kMul>());
        case Reduction::kMin:
          return f(type, Reducer<Reduction::kMin>());
        default:
          return f(type, Reducer<Reduction::kMax>());
      }
    });
  }

 private:
  Reduction reduction_;
};

class ScatterElements final : public ScatterKernel {
 public:
  explicit ScatterElements(const sdk::NodeView& node)
      : ScatterKernel(node), axis_(node.get_int("axis", 0)) {}
  void run(sdk::Call& call) const override {
    const sdk::Shape data = call.shape(0);
    const sdk::Shape shape = call.shape(1);
    const int axis = checked_axis(axis_, data.rank);
    if (shape != call.shape(2)) {
      fail("updates of shape " + to_string(call.shape(2)) + " do not fit indices of shape " +
           to_string(shape));
    }
    const int64_t count = shape.element_count();
    if (count > 0 && !fits_elements(data, shape, axis)) {
      fail("indices of shape " + to_string(shape) + " do not fit data of shape " + to_string(data) +
           " on every axis but " + std::to_string(axis));
    }
    UnitWriter output = copied_data(call);
    if (count > 0) scatter(call, axis, count, output.data());
    output.finish();
  }

 private:
  void scatter(sdk::Call& call, int axis, int64_t count, std::byte* target) const {
    const sdk::Shape data = call.shape(0);
    const Indices indices = indices_apart(call, target);
    for (int64_t i = 0; i < count; ++i) {
      if (!indices.is_within(i, data[axis])) {
        fail("index " + std::to_string(indices[i]) + " is outside axis " + std::to_string(axis) +
             ", whose extent is " + std::to_string(data[axis]));
      }
    }
    const ElementOffsets offsets(data, call.shape(1), axis);
    const std::byte* updates = units_apart(call, 2, target);
    with_reduction(call, [&](auto type, auto reduce) {
      using T = typename decltype(type)::type;
      const auto* from = reinterpret_cast<const T*>(updates);
      auto* to = reinterpret_cast<T*>(target);
      offsets.for_each(indices, 0, count, [&](int64_t i, int64_t offset) {
        to[offset] = reduce(to[offset], from[i]);
      });
    });
  }

  int64_t axis_;
};

class ScatterND final : public ScatterKernel {
 public:
  explicit ScatterND(const sdk::NodeView& node) : ScatterKernel(node) {}
  void run(sdk::Call& call) const override {
    const sdk::Shape data = call.shape(0);
    const sdk::Shape indices = call.shape(1);
    const int depth = checked_depth(data, indices, call.shape(2));
    UnitWriter output = copied_data(call);
    const int64_t tuples = indices.count(0, indices.rank - 1);
    const int64_t run = data.count(depth, data.rank);
    if (tuples > 0 && run > 0) scatter(call, depth, tuples, run, output.data());
    output.finish();
  }

 private:
  [[nodiscard]] int checked_depth(sdk::Shape data, sdk::Shape indices, sdk::Shape updates) const {
    bool fits = indices.rank >= 1 && indices[indices.rank - 1] >= 0 &&
                indices[indices.rank - 1] <= data.rank;
    const int depth = fits ? static_cast<int>(indices[indices.rank - 1]) : 0;
    fits = fits && updates.rank == indices.rank - 1 + data.rank - depth;
    for (int i = 0; fits && i < updates.rank; ++i) {
      fits =
          updates[i] == (i < indices.rank - 1 ? indices[i] : data[depth + i - (indices.rank - 1)]);
    }
    if (!fits) {
      fail("indices of shape " + to_string(indices) + " and updates of shape " +
           to_string(updates) + " do not fit data of shape " + to_string(data));
    }
    return depth;
  }

  void scatter(sdk::Call& call, int depth, int64_t tuples, int64_t run, std::byte* target) const {
    const sdk::Shape data = call.shape(0);
    const Indices indices = indices_apart(call, target);
    auto* offsets = call.scratch<int64_t>(tuples);
    for (int64_t i = 0; i < tuples; ++i) {
      offsets[i] = 0;
      for (int k = 0; k < depth; ++k) {
        if (!indices.is_within(i * depth + k, data[k])) {
          fail("index " + std::to_string(indices[i * depth + k]) + " is outside axis " +
               std::to_string(k) + ", whose extent is " + std::to_string(data[k]));
        }
        offsets[i] = offsets[i] * data[k] + indices.wrapped(i * depth + k, data[k]);
      }
    }
    const std::byte* updates = units_apart(call, 2, target);
    with_reduction(call, [&](auto type, auto reduce) {
      using T = typename decltype(type)::type;
      for (int64_t i = 0; i < tuples; ++i) {
        const auto* from = reinterpret_cast<const T*>(updates) + i * run;
        auto* to = reinterpret_cast<T*>(target) + offsets[i] * run;
        if (reduction() == Reduction::kNone) {
          std::memcpy(to, from, static_cast<size_t>(run) * sizeof(T));
        } else {
          for (int64_t k = 0; k < run; ++k) to[k] = reduce(to[k], from[k]);
        }
      }
    });
  }
};

/// TensorScatter (opset 24): writes the update of each sample into a cache, [batch, ..., sequence,
/// ...], from the sample's write index on.
class TensorScatter final : public ScatterKernel {
 public:
  explicit TensorScatter(const sdk::NodeView& node)
      : ScatterKernel(node),
        axis_(node.get_int("axis", -2)),
        is_circular_(node.get_string("mode", "linear") == "circular") {}
  void run(sdk::Call& call) const override {
    const sdk::Shape cache = call.shape(0);
    const sdk::Shape update = call.shape(1);
    const int axis = checked_axis(axis_, cache.rank);
    bool fits = axis > 0 && update.rank == cache.rank;
    for (int i = 0; fits && i < cache.rank; ++i)
      fits = i == axis ? update[i] <= cache[i] : update[i] == cache[i];
    if (!fits) {
      fail("an update of shape " + to_string(update) + " does not fit a cache of shape " +
           to_string(cache) + " whose sequence is axis " + std::to_string(axis));
    }
    if (call.has_input(2) && call.shape(2).element_count() != cache[0]) {
      fail("write_indices needs one number for each of " + std::to_string(cache[0]) + " samples");
    }
    UnitWriter output = copied_data(call);
    if (update.element_count() > 0) scatter(call, axis, output.data());
    output.finish();
  }

 private:
  void scatter(sdk::Call& call, int axis, std::byte* target) const {
    const sdk::Shape cache = call.shape(0);
    const int64_t length = call.shape(1)[axis];
    const int64_t capacity = cache[axis];
    const int64_t run = cache.count(axis + 1, cache.rank) * unit_bytes(call.input(0).dtype);
    const int64_t rows_per_sample = cache.count(1, axis);
    const std::byte* updates = units_apart(call, 1, target);
    for (int64_t row = 0; row < cache[0] * rows_per_sample; ++row) {
      int64_t start = call.has_input(2) ? call.data<int64_t>(2)[row / rows_per_sample] : 0;
      if (is_circular_) start = (start % capacity + capacity) % capacity;
      if (start < 0 || (!is_circular_ && start > capacity - length)) {
        fail("write index " + std::to_string(start) + " leaves no room for " +
             std::to_string(length) + " of " + std::to_string(capacity) + " positions");
      }
      const int64_t before_end = std::min(length, capacity - start);
      std::byte* sequence = target + row * capacity * run;
      const std::byte* from = updates + row * length * run;
      std::memcpy(sequence + start * run, from, static_cast<size_t>(before_end * run));
      std::memcpy(sequence, from + before_end * run,
                  static_cast<size_t>((length - before_end) * run));
    }
  }

  int64_t axis_;
  bool is_circular_;
};

std::string refuse_reduction(const sdk::NodeView& node) {
  const bool multiplies = node.get_string("reduction", "none") == "mul";
  if (multiplies && node.input(0).dtype() == GANTRY_STRING)
    return "reduction \"mul\" of strings is not defined";
  return {};
}

constexpr sdk::DTypeSet kScatterTypes = sdk::kNumbers | sdk::kBool | sdk::kComplex | sdk::kString;
constexpr sdk::Marks kInPlace = {.overwrites = 0b1};

constexpr sdk::KernelRow kScatterRows[] = {
    {"Scatter", 9, 11, kScatterTypes, sdk::make<ScatterElements>, kInPlace},
    {"ScatterElements", 11, sdk::kLatest, kScatterTypes, sdk::make<ScatterElements>, kInPlace,
     refuse_reduction},
    {"ScatterND", 11, sdk::kLatest, kScatterTypes, sdk::make<ScatterND>, kInPlace,
     refuse_reduction},
    {"TensorScatter", 24, sdk::kLatest, sdk::kAllTypes, sdk::make<TensorScatter>, kInPlace},
};

}  // namespace

sdk::KernelTable scatter_kernels() { return sdk::table(kScatterRows); }

}  // namespace gantry::cpu
