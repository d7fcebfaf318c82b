// SPDX-License-Identifier: Apache-2.0
// Selecting and rearranging elements: Compress, NonZero, OneHot, ReverseSequence, Trilu.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "elements.h"
#include "families.h"
#include "node_kernel.h"
#include "tensor/axis_view.h"

namespace gantry::cpu {

namespace {

class Compress final : public NodeKernel {
 public:
  explicit Compress(const sdk::NodeView& node)
      : NodeKernel(node), has_axis_(node.has("axis")), axis_(node.get_int("axis", 0)) {}
  void run(sdk::Call& call) const override {
    require_rank(call, 1, 1);
    const sdk::Shape input = call.shape(0);
    // Without an axis the input is flattened.
    const int64_t all = input.element_count();
    const sdk::Shape flat(&all, 1);
    const sdk::Shape seen = has_axis_ ? input : flat;
    const int axis = has_axis_ ? checked_axis(axis_, input.rank) : 0;
    const AxisView view(seen, axis);
    const auto* keeps = call.data<bool>(1);
    const int64_t length = std::min(call.shape(1)[0], view.extent);
    const int64_t kept = std::count(keeps, keeps + length, true);
    Dims shape(seen);
    shape[axis] = kept;
    const uint32_t dtype = call.input(0).dtype;
    UnitWriter output(call, 0, dtype, shape.shape());
    const int64_t run = view.inner * unit_bytes(dtype);
    if (view.outer * kept * run > 0) {
      const std::byte* source = read_units(call, 0);
      std::byte* target = output.data();
      for (int64_t outer = 0; outer < view.outer; ++outer, source += view.extent * run) {
        for (int64_t i = 0; i < length; ++i) {
          if (!keeps[i]) continue;
          std::memcpy(target, source + i * run, static_cast<size_t>(run));
          target += run;
        }
      }
    }
    output.finish();
  }

 private:
  bool has_axis_;
  int64_t axis_;
};

template <class T>
bool is_nonzero(const T& element) {
  if constexpr (std::is_same_v<T, gantry_str>) {
    return element.length != 0;
  } else {
    return static_cast<Compute<T>>(element) != Compute<T>(0);
  }
}

/// NonZero: the indices of elements that are not zero (strings: not empty), one column each. A
/// scalar is treated as [1].
class NonZero final : public NodeKernel {
 public:
  explicit NonZero(const sdk::NodeView& node) : NodeKernel(node) {}
  void run(sdk::Call& call) const override {
    const std::byte* units = read_units(call, 0);
    if (call.input(0).dtype == GANTRY_STRING)
      return find(call, reinterpret_cast<const gantry_str*>(units));
    dispatch<Concat<NumberTypes, BoolTypes, ComplexTypes>>(call.input(0).dtype, [&](auto type) {
      find(call, reinterpret_cast<const typename decltype(type)::type*>(units));
    });
  }

 private:
  template <class T>
  void find(sdk::Call& call, const T* elements) const {
    constexpr int64_t kOne = 1;
    const sdk::Shape shape = call.shape(0).rank == 0 ? sdk::Shape(&kOne, 1) : call.shape(0);
    const int64_t count = shape.element_count();
    int64_t found = 0;
    for (int64_t i = 0; i < count; ++i) found += is_nonzero(elements[i]) ? 1 : 0;
    auto* output = static_cast<int64_t*>(call.output(0, GANTRY_INT64, {shape.rank, found}).data);
    for (int64_t i = 0, column = 0; i < count; ++i) {
      if (!is_nonzero(elements[i])) continue;
      int64_t rest = i;
      for (int axis = shape.rank - 1; axis >= 0; --axis) {
        output[axis * found + column] = rest % shape[axis];
        rest /= shape[axis];
      }
      ++column;
    }
  }
};

class OneHot final : public NodeKernel {
 public:
  explicit OneHot(const sdk::NodeView& node) : NodeKernel(node), axis_(node.get_int("axis", -1)) {}
  void run(sdk::Call& call) const override {
    const sdk::Shape indices = call.shape(0);
    const int64_t depth = integer_at(call, 1, 0);
    if (call.shape(1).element_count() != 1 || depth < 0)
      fail("the depth must be one number of at least 0");
    if (call.shape(2).element_count() != 2) fail("values must be two elements, off and on");
    const int axis = checked_axis(axis_, indices.rank + 1);
    Dims shape;
    for (int i = 0; i < axis; ++i) shape.push(indices[i]);
    shape.push(depth);
    for (int i = axis; i < indices.rank; ++i) shape.push(indices[i]);
    const uint32_t dtype = call.input(2).dtype;
    const int64_t count = count_of(shape.shape());
    UnitWriter output(call, 0, dtype, shape.shape());
    if (count > 0) {
      const std::byte* values = read_units(call, 2);
      const AxisView view(shape.shape(), axis);
      dispatch_unit(dtype, [&](auto type) {
        using U = typename decltype(type)::type;
        fill(call, view, reinterpret_cast<const U*>(values), output.as<U>());
      });
    }
    output.finish();
  }

 private:
  template <class U>
  void fill(sdk::Call& call, const AxisView& view, const U* values, U* target) const {
    std::fill_n(target, view.outer * view.block(), values[0]);
    dispatch<NumberTypes>(call.input(0).dtype, [&](auto type) {
      const auto* indices = call.data<typename decltype(type)::type>(0);
      for (int64_t i = 0; i < view.outer * view.inner; ++i) {
        const int64_t index = to_integer(indices[i]);
        // An index outside the depth sets no element.
        if (index < -view.extent || index >= view.extent) continue;
        const int64_t hot = index < 0 ? index + view.extent : index;
        target[(i / view.inner * view.extent + hot) * view.inner + i % view.inner] = values[1];
      }
    });
  }

  template <class T>
  static int64_t to_integer(T number) {
    const auto value = static_cast<Compute<T>>(number);
    if constexpr (std::is_floating_point_v<Compute<T>>) {
      return value > -9e18 && value < 9e18 ? static_cast<int64_t>(value) : INT64_MAX;
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      return value > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(value);
    } else {
      return value;
    }
  }
  int64_t integer_at(sdk::Call& call, int slot, int64_t position) const {
    int64_t result = -1;
    if (call.shape(slot).element_count() <= position) return result;
    dispatch<NumberTypes>(call.input(slot).dtype, [&](auto type) {
      result = to_integer(call.data<typename decltype(type)::type>(slot)[position]);
    });
    return result;
  }

  int64_t axis_;
};

class ReverseSequence final : public NodeKernel {
 public:
  explicit ReverseSequence(const sdk::NodeView& node)
      : NodeKernel(node),
        batch_axis_(node.get_int("batch_axis", 1)),
        time_axis_(node.get_int("time_axis", 0)) {
    if (batch_axis_ + time_axis_ != 1 || batch_axis_ < 0 || time_axis_ < 0) {
      node.fail(GANTRY_INVALID_MODEL, "batch_axis and time_axis must be 0 and 1, or 1 and 0");
    }
  }
  void run(sdk::Call& call) const override {
    const sdk::Shape input = call.shape(0);
    if (input.rank < 2)
      fail("the input has rank " + std::to_string(input.rank) + ", needs at least 2");
    const int64_t times = input[static_cast<int>(time_axis_)];
    const int64_t batches = input[static_cast<int>(batch_axis_)];
    if (call.shape(1).rank != 1 || call.shape(1)[0] != batches) {
      fail("sequence_lens has shape " + to_string(call.shape(1)) + ", needs [" +
           std::to_string(batches) + "]");
    }
    const auto* lengths = call.data<int64_t>(1);
    for (int64_t batch = 0; batch < batches; ++batch) {
      if (lengths[batch] < 0 || lengths[batch] > times) {
        fail("a sequence length is " + std::to_string(lengths[batch]) + ", needs 0 to " +
             std::to_string(times));
      }
    }
    const uint32_t dtype = call.input(0).dtype;
    UnitWriter output(call, 0, dtype, input);
    const int64_t run = input.count(2, input.rank) * unit_bytes(dtype);
    if (times * batches * run > 0) {
      const std::byte* source = read_units(call, 0);
      for (int64_t i = 0; i < times * batches; ++i) {
        const int64_t time = time_axis_ == 0 ? i / batches : i % times;
        const int64_t batch = time_axis_ == 0 ? i % batches : i / times;
        const int64_t from_time = time < lengths[batch] ? lengths[batch] - 1 - time : time;
        const int64_t from =
            time_axis_ == 0 ? from_time * batches + batch : batch * times + from_time;
        std::memcpy(output.data() + i * run, source + from * run, static_cast<size_t>(run));
      }
    }
    output.finish();
  }

 private:
  int64_t batch_axis_;
  int64_t time_axis_;
};

class Trilu final : public NodeKernel {
 public:
  explicit Trilu(const sdk::NodeView& node)
      : NodeKernel(node), is_upper_(node.get_int("upper", 1) != 0) {}
  void run(sdk::Call& call) const override {
    const sdk::Shape shape = call.shape(0);
    if (shape.rank < 2)
      fail("the input has rank " + std::to_string(shape.rank) + ", needs at least 2");
    const int64_t rows = shape[shape.rank - 2];
    const int64_t columns = shape[shape.rank - 1];
    const int64_t diagonal = call.has_input(1) ? std::clamp(read_int(call, 1), -rows, columns) : 0;
    const uint32_t dtype = call.input(0).dtype;
    const int64_t unit = unit_bytes(dtype);
    UnitWriter output(call, 0, dtype, shape);
    if (shape.element_count() > 0) {
      const std::byte* source = read_units(call, 0);
      const int64_t row_bytes = columns * unit;
      const int64_t grain = std::max<int64_t>(1, kGrainBytes / row_bytes);
      call.parallel_for(shape.count(0, shape.rank - 1), grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t edge =
              std::clamp<int64_t>(i % rows + diagonal + (is_upper_ ? 0 : 1), 0, columns) * unit;
          write_row(source + i * row_bytes, output.data() + i * row_bytes, edge, row_bytes);
        }
      });
    }
    output.finish();
  }

 private:
  static constexpr int64_t kGrainBytes = 128 * 1024;

  /// Copies the elements on one side of `edge`, zeroes the others. `source` may be `target`.
  void write_row(const std::byte* source, std::byte* target, int64_t edge,
                 int64_t row_bytes) const {
    const int64_t kept_begin = is_upper_ ? edge : 0;
    const int64_t kept_end = is_upper_ ? row_bytes : edge;
    if (source != target && kept_end > kept_begin) {
      std::memcpy(target + kept_begin, source + kept_begin,
                  static_cast<size_t>(kept_end - kept_begin));
    }
    std::memset(target, 0, static_cast<size_t>(kept_begin));
    std::memset(target + kept_end, 0, static_cast<size_t>(row_bytes - kept_end));
  }

  bool is_upper_;
};

constexpr sdk::KernelRow kSelectRows[] = {
    {"Compress", 9, sdk::kLatest, sdk::kAllTypes, sdk::make<Compress>},
    {"NonZero", 9, sdk::kLatest, sdk::kNumbers | sdk::kBool | sdk::kComplex | sdk::kString,
     sdk::make<NonZero>},
    {"OneHot", 9, sdk::kLatest, sdk::kNumbers, sdk::make<OneHot>, {.signature_inputs = 0b10}},
    {"ReverseSequence", 10, sdk::kLatest, sdk::kAllTypes, sdk::make<ReverseSequence>},
    {"Trilu", 14, sdk::kLatest, sdk::kAllTypes, sdk::make<Trilu>, {.overwrites = 0b1}},
};

}  // namespace

sdk::KernelTable select_kernels() { return sdk::table(kSelectRows); }

}  // namespace gantry::cpu
