// SPDX-License-Identifier: Apache-2.0
// Operators that generate tensors: Constant, ConstantOfShape, EyeLike, Range.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "elements.h"
#include "families.h"
#include "node_kernel.h"
#include "tensor/strided_copy.h"

namespace gantry::cpu {

namespace {

/// Outputs the value of its attribute. The core folds constants, so this runs only for a Constant
/// in a function body or from another tool.
class Constant final : public NodeKernel {
 public:
  explicit Constant(const sdk::NodeView& node) : NodeKernel(node), value_(of(node)) {}
  void run(sdk::Call& call) const override { call.output_value(0, value_.get()); }

 private:
  static OwnedValue of(const sdk::NodeView& node) {
    if (const gantry_value* value = node.get_tensor("value")) return copy(node.host(), value);
    if (node.has("value_int"))
      return numbers(node, GANTRY_INT64, std::vector{node.get_int("value_int", 0)}, true);
    if (node.has("value_ints"))
      return numbers(node, GANTRY_INT64, node.get_ints("value_ints"), false);
    if (node.has("value_float"))
      return numbers(node, GANTRY_FLOAT, std::vector{node.get_float("value_float", 0)}, true);
    if (node.has("value_floats"))
      return numbers(node, GANTRY_FLOAT, node.get_floats("value_floats"), false);
    if (node.has("value_string")) return texts(node, {node.get_string("value_string", "")}, true);
    if (node.has("value_strings")) return texts(node, node.get_strings("value_strings"), false);
    node.fail(GANTRY_UNSUPPORTED, "there is no attribute that holds a dense value");
  }

  static OwnedValue copy(const gantry_host* host, const gantry_value* source) {
    const gantry_tensor& from = *host->value_tensor(source);
    if (from.dtype == GANTRY_STRING) {
      return create_string_tensor(host, sdk::Shape(from), [&](int64_t i) {
        return sdk::to_view(string_at(host, source, i));
      });
    }
    gantry_tensor* to = nullptr;
    OwnedValue value = create_tensor(host, from.dtype, sdk::Shape(from), to);
    if (from.size_bytes > 0) std::memcpy(to->data, from.data, from.size_bytes);
    return value;
  }
  template <class T>
  static OwnedValue numbers(const sdk::NodeView& node, uint32_t dtype, const std::vector<T>& values,
                            bool is_scalar) {
    const auto count = static_cast<int64_t>(values.size());
    gantry_tensor* tensor = nullptr;
    OwnedValue value = create_tensor(node.host(), dtype, {&count, is_scalar ? 0 : 1}, tensor);
    std::copy(values.begin(), values.end(), static_cast<T*>(tensor->data));
    return value;
  }
  static OwnedValue texts(const sdk::NodeView& node, const std::vector<std::string>& values,
                          bool is_scalar) {
    const auto count = static_cast<int64_t>(values.size());
    return create_string_tensor(node.host(), {&count, is_scalar ? 0 : 1}, [&](int64_t i) {
      return std::string_view(values[static_cast<size_t>(i)]);
    });
  }

  OwnedValue value_;
};

class ConstantOfShape final : public NodeKernel {
 public:
  explicit ConstantOfShape(const sdk::NodeView& node) : NodeKernel(node) {
    const gantry_value* value = node.get_tensor("value");
    if (!value) return;
    const gantry_tensor* tensor = node.host()->value_tensor(value);
    if (!tensor || sdk::Shape(*tensor).element_count() != 1 || bits_of(tensor->dtype) == 0) {
      node.fail(GANTRY_INVALID_MODEL, "\"value\" must be a tensor of one number");
    }
    dtype_ = tensor->dtype;
    std::memcpy(unit_, tensor->data, static_cast<size_t>(unit_bytes(dtype_)));
    // A unit of a packed type is one element; clears the other bits of its byte.
    if (is_packed(dtype_)) unit_[0] &= static_cast<uint8_t>((1 << bits_of(dtype_)) - 1);
  }
  void run(sdk::Call& call) const override {
    const Dims shape = read_ints(call, 0);
    const int64_t count = count_of(shape.shape());
    UnitWriter output(call, 0, dtype_, shape.shape());
    constexpr int64_t kRepeated = 0;
    constexpr int64_t kDense = 1;
    copy_strided(call, unit_bytes(dtype_), {&count, 1}, unit_, &kRepeated, output.data(), &kDense);
    output.finish();
  }

 private:
  uint32_t dtype_ = GANTRY_FLOAT;
  alignas(16) uint8_t unit_[16] = {};
};

class EyeLike final : public NodeKernel {
 public:
  explicit EyeLike(const sdk::NodeView& node)
      : NodeKernel(node),
        dtype_(static_cast<uint32_t>(node.get_int("dtype", 0))),
        diagonal_(node.get_int("k", 0)) {}
  void run(sdk::Call& call) const override {
    require_rank(call, 0, 2);
    const sdk::Shape shape = call.shape(0);
    const uint32_t dtype = dtype_ ? dtype_ : call.input(0).dtype;
    dispatch<Concat<NumberTypes, BoolTypes>>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* output = static_cast<T*>(call.output(0, dtype, shape).data);
      const int64_t rows = shape[0];
      const int64_t columns = shape[1];
      if (rows * columns == 0) return;
      std::memset(static_cast<void*>(output), 0, static_cast<size_t>(rows * columns) * sizeof(T));
      const int64_t diagonal = std::clamp(diagonal_, -rows, columns);
      for (int64_t row = std::max<int64_t>(0, -diagonal); row < rows && row + diagonal < columns;
           ++row) {
        output[row * columns + row + diagonal] = T(1);
      }
    });
  }

 private:
  uint32_t dtype_;
  int64_t diagonal_;
};

/// Least number of elements of a Range that a thread writes.
constexpr int64_t kRangeGrain = 16384;
constexpr int64_t kRangeBlock = 1024;

/// Element i is start + i * delta, computed in float for the 16-bit floats, so that errors do not
/// add up.
class Range final : public NodeKernel {
 public:
  explicit Range(const sdk::NodeView& node) : NodeKernel(node) {}
  void run(sdk::Call& call) const override {
    for (int slot = 0; slot < 3; ++slot) {
      if (call.shape(slot).element_count() != 1)
        fail("input " + std::to_string(slot) + " needs one element");
    }
    dispatch<NumberTypes>(call.input(0).dtype,
                          [&](auto type) { fill<typename decltype(type)::type>(call); });
  }

 private:
  template <class T>
  void fill(sdk::Call& call) const {
    using C = Compute<T>;
    const auto start = static_cast<C>(*call.data<T>(0));
    const auto limit = static_cast<C>(*call.data<T>(1));
    const auto delta = static_cast<C>(*call.data<T>(2));
    if (delta == C(0)) fail("delta is 0");
    const int64_t count = count_between(start, limit, delta);
    auto* output = static_cast<T*>(call.output(0, kDType<T>, {count}).data);
    call.parallel_for(count, kRangeGrain, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_integral_v<C>) {
        fill_integers(output, begin, end, static_cast<uint64_t>(start),
                      static_cast<uint64_t>(delta));
      } else {
        fill_floats(output, begin, end, start, delta);
      }
    });
  }

  /// Every instruction set converts 32-bit integers to float with SIMD, few convert 64-bit ones.
  template <class T, class C>
  static void fill_floats(T* output, int64_t begin, int64_t end, C start, C delta) {
    const auto narrow_end = static_cast<int32_t>(std::min<int64_t>(end, INT32_MAX));
    int64_t i = begin;
    for (; i < narrow_end; i += kRangeBlock) {
      const auto first = static_cast<int32_t>(i);
      const auto count = static_cast<int32_t>(std::min<int64_t>(kRangeBlock, narrow_end - i));
      T* target = output + i;
      for (int32_t k = 0; k < count; ++k)
        target[k] = static_cast<T>(start + static_cast<C>(first + k) * delta);
    }
    for (i = std::max<int64_t>(begin, narrow_end); i < end; ++i)
      output[i] = static_cast<T>(start + static_cast<C>(i) * delta);
  }

  /// Every element fits T; intermediate values may wrap around. Additions, as every instruction set
  /// has them with SIMD; few multiply 64-bit integers.
  template <class T>
  static void fill_integers(T* output, int64_t begin, int64_t end, uint64_t start, uint64_t delta) {
    uint64_t value = start + static_cast<uint64_t>(begin) * delta;
    for (int64_t i = begin; i < end; ++i) {
      output[i] = static_cast<T>(value);
      value += delta;
    }
  }

  template <class C>
  int64_t count_between(C start, C limit, C delta) const {
    if constexpr (std::is_integral_v<C>) {
      if (delta > C(0) ? start >= limit : start <= limit) return 0;
      const uint64_t low = static_cast<uint64_t>(delta > C(0) ? start : limit);
      const uint64_t high = static_cast<uint64_t>(delta > C(0) ? limit : start);
      const uint64_t step =
          delta > C(0) ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
      return checked((high - low - 1) / step + 1);
    } else {
      const double count = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                                     static_cast<double>(delta));
      if (!(count > 0)) {
        if (std::isnan(count)) fail("start, limit and delta give no count of elements");
        return 0;
      }
      return checked(count < 9e18 ? static_cast<uint64_t>(count) : UINT64_MAX);
    }
  }
  [[nodiscard]] int64_t checked(uint64_t count) const {
    if (count > static_cast<uint64_t>(INT64_MAX) / 8) fail("the range has too many elements");
    return static_cast<int64_t>(count);
  }
};

constexpr sdk::KernelRow kConstantRows[] = {
    {.op_type = "Constant",
     .first_version = 1,
     .last_version = sdk::kLatest,
     .dtypes = sdk::kAllTypes,
     .factory = sdk::make<Constant>,
     .typed_slot = -1},
    {.op_type = "ConstantOfShape",
     .first_version = 9,
     .last_version = sdk::kLatest,
     .dtypes = sdk::kFixedSize | sdk::kPacked,
     .factory = sdk::make<ConstantOfShape>,
     .marks = {.signature_inputs = 0b1},
     .typed_slot = -1},
    {.op_type = "EyeLike",
     .first_version = 9,
     .last_version = sdk::kLatest,
     .dtypes = sdk::kNumbers | sdk::kBool,
     .factory = sdk::make<EyeLike>,
     .typed_slot = -1},
    {"Range", 11, sdk::kLatest, sdk::kNumbers, sdk::make<Range>, {.signature_inputs = 0b111}},
};

}  // namespace

sdk::KernelTable constant_kernels() { return sdk::table(kConstantRows); }

}  // namespace gantry::cpu
