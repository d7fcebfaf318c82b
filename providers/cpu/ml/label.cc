// SPDX-License-Identifier: Apache-2.0
// LabelEncoder and CategoryMapper of ai.onnx.ml.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "elements.h"
#include "families.h"
#include "ml/integer_positions.h"
#include "ml/operands.h"
#include "node_kernel.h"
#include "values.h"

namespace gantry::cpu {
namespace {

using EncodedTypes = TypeList<int16_t, int32_t, int64_t, float, double>;
constexpr sdk::DTypeSet kEncoded = dtype_set(EncodedTypes{}) | sdk::kString;

/// A list of strings, integers or floats: the keys or values of an encoder.
struct Items {
  uint32_t dtype = GANTRY_UNDEFINED;
  std::vector<std::string> texts;
  std::vector<int64_t> integers;
  std::vector<double> reals;

  [[nodiscard]] size_t count() const { return texts.size() + integers.size() + reals.size(); }
  [[nodiscard]] bool is_integer() const {
    return dtype == GANTRY_INT64 || dtype == GANTRY_INT32 || dtype == GANTRY_INT16;
  }

  /// Reads a tensor attribute.
  void read_tensor(const sdk::NodeView& node, const char* name) {
    const gantry_value* value = node.get_tensor(name);
    const gantry_tensor* tensor = value ? node.host()->value_tensor(value) : nullptr;
    if (!tensor) return;
    dtype = tensor->dtype;
    const int64_t size = sdk::Shape(*tensor).element_count();
    if (dtype == GANTRY_STRING) {
      for (int64_t i = 0; i < size; ++i)
        texts.emplace_back(sdk::to_view(string_at(node.host(), value, i)));
    } else if (is_integer()) {
      integers = read_tensor_numbers<int64_t>(node, name);
    } else {
      reals = read_tensor_numbers<double>(node, name);
    }
  }
  /// Reads the attribute that is present of `prefix`_strings, _int64s, _floats and _tensor.
  static Items read(const sdk::NodeView& node, const std::string& prefix) {
    Items items;
    items.read_tensor(node, (prefix + "_tensor").c_str());
    if (items.dtype != GANTRY_UNDEFINED) return items;
    items.texts = node.get_strings(prefix + "_strings");
    items.integers = node.get_ints(prefix + "_int64s");
    for (const float number : node.get_floats(prefix + "_floats")) items.reals.push_back(number);
    items.dtype = !items.texts.empty()      ? GANTRY_STRING
                  : !items.integers.empty() ? GANTRY_INT64
                                            : GANTRY_FLOAT;
    if (items.count() == 0 || items.count() != std::max({items.texts.size(), items.integers.size(),
                                                         items.reals.size()})) {
      node.fail(GANTRY_INVALID_MODEL, "exactly one of the attributes " + prefix + "_strings, " +
                                          prefix + "_int64s, " + prefix + "_floats and " + prefix +
                                          "_tensor must be given");
    }
    return items;
  }
};

/// Maps elements to the index of their key.
class Lookup {
 public:
  static constexpr int64_t kNone = IntegerPositions::kNone;

  void add(const Items& keys) {
    int64_t position = 0;
    // Of equal keys the last counts; all NaN are equal.
    for (const std::string& key : keys.texts) texts_[key] = position++;
    integers_ = IntegerPositions(keys.integers);
    for (const double key : keys.reals) (std::isnan(key) ? nan_ : reals_[key]) = position++;
  }

  /// Writes the key index of each element of an input. Throws if its type is not that of the keys.
  void find(sdk::Call& call, const Items& keys, int64_t count, int64_t* positions,
            const std::string& label) const {
    const uint32_t dtype = call.input(0).dtype;
    if (dtype != keys.dtype) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       label + ": the input has element type " + std::to_string(dtype) +
                           " and the keys " + std::to_string(keys.dtype) +
                           " (ONNX TensorProto numbers); they must be equal");
    }
    if (dtype == GANTRY_STRING) {
      for (int64_t i = 0; i < count; ++i)
        positions[i] = at(texts_, sdk::to_view(string_at(call.host(), call.value(0), i)));
      return;
    }
    dispatch<EncodedTypes>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const T* source = call.data<T>(0);
      call.parallel_for(count, 4096, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if constexpr (std::is_integral_v<T>) {
            positions[i] = integers_.find(source[i]);
          } else {
            positions[i] = std::isnan(source[i]) ? nan_ : at(reals_, double{source[i]});
          }
        }
      });
    });
  }

 private:
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <class Map, class Key>
  static int64_t at(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? kNone : found->second;
  }

  std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>> texts_;
  IntegerPositions integers_;
  std::unordered_map<double, int64_t> reals_;
  int64_t nan_ = kNone;
};

/// Writes output 0: for each key index its value, or the default for Lookup::kNone.
void write_items(sdk::Call& call, const Items& values, const Items& fallback,
                 const int64_t* positions) {
  const sdk::Shape shape = call.shape(0);
  const int64_t count = shape.element_count();
  if (values.dtype == GANTRY_STRING) {
    const OwnedValue result = create_string_tensor(call.host(), shape, [&](int64_t i) {
      return std::string_view(positions[i] == Lookup::kNone
                                  ? fallback.texts[0]
                                  : values.texts[static_cast<size_t>(positions[i])]);
    });
    return call.output_value(0, result.get());
  }
  gantry_tensor& output = call.output(0, values.dtype, shape);
  dispatch<EncodedTypes>(values.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    auto* y = static_cast<T*>(output.data);
    const auto fill = [&](const auto& list, const auto& other) {
      for (int64_t i = 0; i < count; ++i) {
        y[i] = static_cast<T>(
            positions[i] == Lookup::kNone ? other[0] : list[static_cast<size_t>(positions[i])]);
      }
    };
    if constexpr (std::is_integral_v<T>) {
      fill(values.integers, fallback.integers);
    } else {
      fill(values.reals, fallback.reals);
    }
  });
}

/// Versions 2 and 4. Version 4 may have its lists as tensors.
class LabelEncoder final : public NodeKernel {
 public:
  explicit LabelEncoder(const sdk::NodeView& node)
      : NodeKernel(node), keys_(Items::read(node, "keys")), values_(Items::read(node, "values")) {
    if (keys_.count() != values_.count()) {
      node.fail(GANTRY_INVALID_MODEL, "there are " + std::to_string(keys_.count()) + " keys for " +
                                          std::to_string(values_.count()) + " values");
    }
    lookup_.add(keys_);
    default_.read_tensor(node, "default_tensor");
    if (default_.dtype != GANTRY_UNDEFINED) {
      if (default_.count() != 1 || default_.dtype != values_.dtype) {
        node.fail(GANTRY_INVALID_MODEL,
                  "attribute default_tensor must be one element of the type of the values");
      }
      return;
    }
    default_.texts.push_back(node.get_string("default_string", "_Unused"));
    default_.integers.push_back(node.get_int("default_int64", -1));
    default_.reals.push_back(node.get_float("default_float", -0.0F));
  }

  void run(sdk::Call& call) const override {
    const int64_t count = call.shape(0).element_count();
    auto* positions = call.scratch<int64_t>(count);
    lookup_.find(call, keys_, count, positions, label());
    write_items(call, values_, default_, positions);
  }

 private:
  Items keys_;
  Items values_;
  Items default_;
  Lookup lookup_;
};

/// Maps integers to strings or strings to integers, depending on the input. LabelEncoder of version
/// 1 numbers its strings; CategoryMapper lists both.
class CategoryMapper final : public NodeKernel {
 public:
  explicit CategoryMapper(const sdk::NodeView& node) : NodeKernel(node) {
    const bool is_encoder = node.op_type() == "LabelEncoder";
    texts_.dtype = GANTRY_STRING;
    texts_.texts = node.get_strings(is_encoder ? "classes_strings" : "cats_strings");
    numbers_.dtype = GANTRY_INT64;
    numbers_.integers = node.get_ints("cats_int64s");
    for (size_t i = 0; is_encoder && i < texts_.texts.size(); ++i)
      numbers_.integers.push_back(static_cast<int64_t>(i));
    if (texts_.count() != numbers_.count()) {
      node.fail(GANTRY_INVALID_MODEL, "there are " + std::to_string(texts_.count()) +
                                          " texts for " + std::to_string(numbers_.count()) +
                                          " numbers");
    }
    from_texts_.add(texts_);
    from_numbers_.add(numbers_);
    default_.texts.push_back(node.get_string("default_string", "_Unused"));
    default_.integers.push_back(node.get_int("default_int64", -1));
  }

  void run(sdk::Call& call) const override {
    const int64_t count = call.shape(0).element_count();
    auto* positions = call.scratch<int64_t>(count);
    const bool is_text = call.input(0).dtype == GANTRY_STRING;
    (is_text ? from_texts_ : from_numbers_)
        .find(call, is_text ? texts_ : numbers_, count, positions, label());
    write_items(call, is_text ? numbers_ : texts_, default_, positions);
  }

 private:
  Items texts_;
  Items numbers_;
  Items default_;
  Lookup from_texts_;
  Lookup from_numbers_;
};

constexpr sdk::DTypeSet kNames = sdk::kString | sdk::dtypes(GANTRY_INT64);

constexpr sdk::KernelRow kMlLabelRows[] = {
    ml_row("LabelEncoder", 1, 1, kNames, sdk::make<CategoryMapper>),
    ml_row("LabelEncoder", 2, sdk::kLatest, kEncoded, sdk::make<LabelEncoder>),
    ml_row("CategoryMapper", 1, sdk::kLatest, kNames, sdk::make<CategoryMapper>),
};

}  // namespace

sdk::KernelTable label_kernels() { return sdk::table(kMlLabelRows); }

}  // namespace gantry::cpu
