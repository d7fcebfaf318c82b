// SPDX-License-Identifier: Apache-2.0
// DictVectorizer, CastMap and ZipMap of ai.onnx.ml.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attributes.h"
#include "elements.h"
#include "elementwise/cast_text.h"
#include "families.h"
#include "integer_math.h"
#include "ml/operands.h"
#include "node_kernel.h"
#include "values.h"

namespace gantry::cpu {
namespace {

/// The keys and the values of a map, two tensors of rank 1.
struct MapParts {
  MapParts(sdk::Call& call, const std::string& label) {
    const gantry_host* host = call.host();
    const gantry_value* map = call.value(0);
    if (host->value_kind(map) == GANTRY_KIND_MAP && host->value_length(map) == 2) {
      keys = host->value_at(map, 0);
      values = host->value_at(map, 1);
      key_tensor = host->value_tensor(keys);
      value_tensor = host->value_tensor(values);
    }
    if (!key_tensor || !value_tensor ||
        sdk::Shape(*key_tensor).element_count() != sdk::Shape(*value_tensor).element_count())
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, label + ": input 0 is no map");
  }
  [[nodiscard]] int64_t count() const { return sdk::Shape(*key_tensor).element_count(); }
  [[nodiscard]] int64_t number_key(int64_t i) const {
    return static_cast<const int64_t*>(key_tensor->data)[i];
  }

  const gantry_value* keys = nullptr;
  const gantry_value* values = nullptr;
  const gantry_tensor* key_tensor = nullptr;
  const gantry_tensor* value_tensor = nullptr;
};

/// ONNX specifies rank 1 for these outputs; some models declare [1, n].
Dims row_shape(int64_t count, int declared_rank, int usual_rank) {
  const int rank = declared_rank == 1 || declared_rank == 2 ? declared_rank : usual_rank;
  Dims shape;
  if (rank == 2) shape.push(1);
  shape.push(count);
  return shape;
}

class DictVectorizer final : public NodeKernel {
 public:
  explicit DictVectorizer(const sdk::NodeView& node)
      : NodeKernel(node), rank_(node.output(0).rank()) {
    const std::vector<std::string> texts = node.get_strings("string_vocabulary");
    const std::vector<int64_t> numbers = node.get_ints("int64_vocabulary");
    require_one_list(node, texts.empty(), numbers.empty(), "string_vocabulary", "int64_vocabulary");
    for (size_t i = 0; i < texts.size(); ++i) texts_[texts[i]] = static_cast<int64_t>(i);
    for (size_t i = 0; i < numbers.size(); ++i) numbers_[numbers[i]] = static_cast<int64_t>(i);
    width_ = static_cast<int64_t>(texts.size() + numbers.size());
  }

  void run(sdk::Call& call) const override {
    const MapParts map(call, label());
    const uint32_t key_dtype = map.key_tensor->dtype;
    if (key_dtype != (texts_.empty() ? GANTRY_INT64 : GANTRY_STRING))
      fail("the keys of the map have another type than the vocabulary");
    const uint32_t dtype = map.value_tensor->dtype;
    const Dims shape = row_shape(width_, rank_, 1);
    UnitWriter output(call, 0, dtype, shape.shape());
    const std::byte* units = read_units(call, map.values, *map.value_tensor);
    dispatch_unit(dtype, [&](auto type) {
      using U = typename decltype(type)::type;
      U* target = output.as<U>();
      std::fill_n(target, width_, U{});
      for (int64_t i = 0; i < map.count(); ++i)
        target[source_of(call, map, i)] = reinterpret_cast<const U*>(units)[i];
    });
    output.finish();
  }

 private:
  [[nodiscard]] int64_t source_of(sdk::Call& call, const MapParts& map, int64_t i) const {
    if (texts_.empty()) {
      const auto found = numbers_.find(map.number_key(i));
      if (found != numbers_.end()) return found->second;
      fail("the key " + std::to_string(map.number_key(i)) + " is not in the vocabulary");
    }
    const std::string key(sdk::to_view(string_at(call.host(), map.keys, i)));
    const auto found = texts_.find(key);
    if (found == texts_.end()) fail("the key \"" + key + "\" is not in the vocabulary");
    return found->second;
  }

  int rank_;
  int64_t width_;
  std::unordered_map<std::string, int64_t> texts_;
  std::unordered_map<int64_t, int64_t> numbers_;
};

/// CastMap: the values of a map in the order of their integer keys, or each at the index of its
/// key.
class CastMap final : public NodeKernel {
 public:
  explicit CastMap(const sdk::NodeView& node)
      : NodeKernel(node), rank_(node.output(0).rank()), width_(node.get_int("max_map", 1)) {
    const std::string to = node.get_string("cast_to", "TO_FLOAT");
    to_ = to == "TO_FLOAT"    ? GANTRY_FLOAT
          : to == "TO_INT64"  ? GANTRY_INT64
          : to == "TO_STRING" ? GANTRY_STRING
                              : GANTRY_UNDEFINED;
    const std::string form = node.get_string("map_form", "DENSE");
    is_dense_ = form == "DENSE";
    if (to_ == GANTRY_UNDEFINED || (!is_dense_ && form != "SPARSE") ||
        (!is_dense_ && (width_ < 1 || width_ > INT32_MAX))) {
      node.fail(GANTRY_INVALID_MODEL, "attributes cast_to \"" + to + "\", map_form \"" + form +
                                          "\" and max_map " + std::to_string(width_) +
                                          " are no cast of a map");
    }
  }

  void run(sdk::Call& call) const override {
    const MapParts map(call, label());
    if (map.key_tensor->dtype != GANTRY_INT64) fail("the keys of the map must be int64");
    const int64_t count = map.count();
    auto* order = call.scratch<int64_t>(count);
    for (int64_t i = 0; i < count; ++i) order[i] = i;
    std::sort(order, order + count,
              [&](int64_t a, int64_t b) { return map.number_key(a) < map.number_key(b); });
    const Dims shape = row_shape(is_dense_ ? count : width_, rank_, 2);
    if (to_ == GANTRY_STRING) return write_texts(call, map, order, shape);
    gantry_tensor& output = call.output(0, to_, shape.shape());
    const int64_t total = count_of(shape.shape());
    dispatch<TypeList<float, int64_t>>(to_, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* y = static_cast<T*>(output.data);
      std::fill_n(y, total, T{0});
      for (int64_t i = 0; i < count; ++i)
        y[source_of(map, order, i)] = number<T>(call, map, order[i]);
    });
  }

 private:
  [[nodiscard]] int64_t source_of(const MapParts& map, const int64_t* order, int64_t i) const {
    if (is_dense_) return i;
    const int64_t key = map.number_key(order[i]);
    if (key < 0 || key >= width_) {
      fail("the key " + std::to_string(key) + " is outside a sparse row of " +
           std::to_string(width_));
    }
    return key;
  }

  template <class T>
  T number(sdk::Call& call, const MapParts& map, int64_t i) const {
    double value = 0;
    if (map.value_tensor->dtype == GANTRY_STRING) {
      const std::string_view text = sdk::to_view(string_at(call.host(), map.values, i));
      const std::optional<Number> read = read_number(text);
      if (!read) fail("the text \"" + std::string(text.substr(0, 40)) + "\" is no number");
      value = read->real;
    } else {
      value = static_cast<double>(static_cast<const float*>(map.value_tensor->data)[i]);
    }
    if constexpr (std::is_integral_v<T>) {
      return to_integer<T>(value);
    } else {
      return static_cast<T>(value);
    }
  }

  void write_texts(sdk::Call& call, const MapParts& map, const int64_t* order,
                   const Dims& shape) const {
    const OwnedValue result = create_string_tensor(call.host(), shape.shape());
    std::array<char, kNumberText> buffer;
    for (int64_t i = 0; i < map.count(); ++i) {
      const gantry_str text =
          map.value_tensor->dtype == GANTRY_STRING
              ? string_at(call.host(), map.values, order[i])
              : sdk::to_str(write_number(
                    static_cast<const float*>(map.value_tensor->data)[order[i]], buffer));
      set_string(call.host(), result.get(), source_of(map, order, i), text);
    }
    call.output_value(0, result.get());
  }

  int rank_;
  uint32_t to_;
  bool is_dense_;
  int64_t width_;
};

/// ZipMap: each row of scores as a map from class labels to scores.
class ZipMap final : public NodeKernel {
 public:
  explicit ZipMap(const sdk::NodeView& node)
      : NodeKernel(node),
        numbers_(node.get_ints("classlabels_int64s")),
        texts_(node.get_strings("classlabels_strings")) {
    require_one_list(node, numbers_.empty(), texts_.empty(), "classlabels_int64s",
                     "classlabels_strings");
  }

  void run(sdk::Call& call) const override {
    const FeatureShape shape(call.shape(0), label());
    const auto width = static_cast<int64_t>(numbers_.size() + texts_.size());
    if (shape.columns != width) {
      fail("rows of " + std::to_string(shape.columns) + " scores for " + std::to_string(width) +
           " labels");
    }
    const gantry_host* host = call.host();
    const OwnedValue keys = make_keys(host, width);
    const std::array<int64_t, 2> rows = {shape.rows, width};
    gantry_tensor* tensor = nullptr;
    const OwnedValue values = create_tensor(host, GANTRY_FLOAT, {rows.data(), 2}, tensor);
    std::copy_n(call.data<float>(0), shape.rows * width, static_cast<float*>(tensor->data));
    // One map value represents all rows: its values are [rows, width].
    const OwnedValue map = create_value(host, GANTRY_KIND_MAP, GANTRY_FLOAT);
    sdk::check(host, host->value_append(map.get(), keys.get()));
    sdk::check(host, host->value_append(map.get(), values.get()));
    const OwnedValue maps = create_value(host, GANTRY_KIND_SEQUENCE, GANTRY_FLOAT);
    sdk::check(host, host->value_append(maps.get(), map.get()));
    call.output_value(0, maps.get());
  }

 private:
  [[nodiscard]] OwnedValue make_keys(const gantry_host* host, int64_t width) const {
    if (!texts_.empty()) {
      return create_string_tensor(host, {&width, 1}, [&](int64_t i) {
        return std::string_view(texts_[static_cast<size_t>(i)]);
      });
    }
    gantry_tensor* tensor = nullptr;
    OwnedValue keys = create_tensor(host, GANTRY_INT64, {&width, 1}, tensor);
    std::copy(numbers_.begin(), numbers_.end(), static_cast<int64_t*>(tensor->data));
    return keys;
  }

  std::vector<int64_t> numbers_;
  std::vector<std::string> texts_;
};

constexpr sdk::KernelRow kMlMapRows[] = {
    ml_row("DictVectorizer", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<DictVectorizer>),
    ml_row("CastMap", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<CastMap>),
    ml_row("ZipMap", 1, sdk::kLatest, sdk::dtypes(GANTRY_FLOAT), sdk::make<ZipMap>),
};

}  // namespace

sdk::KernelTable map_kernels() { return sdk::table(kMlMapRows); }

}  // namespace gantry::cpu
