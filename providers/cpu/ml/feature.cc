// SPDX-License-Identifier: Apache-2.0
// Feature preprocessing of ai.onnx.ml: Scaler, Imputer, Normalizer, Binarizer, OneHotEncoder,
// FeatureVectorizer, ArrayFeatureExtractor.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attributes.h"
#include "elements.h"
#include "families.h"
#include "integer_math.h"
#include "ml/integer_positions.h"
#include "ml/operands.h"
#include "node_kernel.h"
#include "simd/index_math.h"
#include "simd/row_math.h"
#include "simd/vector_math.h"

namespace gantry::cpu {
namespace {

constexpr int64_t kMlFeatureGrain = 16384;

/// A number for each column, of a list that has one for all or one for each; throws if it has
/// neither.
template <class T, class V>
const T* each_column(sdk::Call& call, const std::vector<V>& numbers, int64_t columns,
                     const char* name, const std::string& label) {
  const auto count = static_cast<int64_t>(numbers.size());
  if (count != 1 && count != columns) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, label + ": attribute " + name + " has " +
                                                  std::to_string(count) +
                                                  " numbers, expected 1 or one for each of " +
                                                  std::to_string(columns) + " features");
  }
  T* result = call.scratch<T>(columns);
  for (int64_t i = 0; i < columns; ++i)
    result[i] = static_cast<T>(numbers[static_cast<size_t>(count == 1 ? 0 : i)]);
  return result;
}

int64_t last_extent(sdk::Shape shape) { return shape.rank > 0 ? shape[shape.rank - 1] : 1; }

/// Calls visit(row) for the rows along the last axis, in parallel.
template <class Visit>
void for_each_row(sdk::Call& call, sdk::Shape shape, Visit visit) {
  const int64_t columns = std::max<int64_t>(last_extent(shape), 1);
  const int64_t grain = std::max<int64_t>(1, kMlFeatureGrain / columns);
  call.parallel_for(shape.element_count() / columns, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) visit(row);
  });
}

/// y = (x - offset) scale
class Scaler final : public NodeKernel {
 public:
  explicit Scaler(const sdk::NodeView& node)
      : NodeKernel(node), offset_(node.get_floats("offset")), scale_(node.get_floats("scale")) {
    if (offset_.empty()) offset_.push_back(0.0F);
    if (scale_.empty()) scale_.push_back(1.0F);
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    const int64_t columns = last_extent(x);
    const auto* offset = each_column<float>(call, offset_, columns, "offset", label());
    const auto* scale = each_column<float>(call, scale_, columns, "scale", label());
    auto* y = static_cast<float*>(call.output(0, GANTRY_FLOAT, x).data);
    dispatch<FeatureTypes>(call.input(0).dtype, [&](auto type) {
      const auto* source = call.data<typename decltype(type)::type>(0);
      for_each_row(call, x, [&](int64_t row) {
        const auto* from = source + row * columns;
        float* to = y + row * columns;
        for (int64_t i = 0; i < columns; ++i)
          to[i] = (static_cast<float>(from[i]) - offset[i]) * scale[i];
      });
    });
  }

 private:
  std::vector<float> offset_;
  std::vector<float> scale_;
};

class Imputer final : public NodeKernel {
 public:
  explicit Imputer(const sdk::NodeView& node)
      : NodeKernel(node),
        floats_(node.get_floats("imputed_value_floats")),
        ints_(node.get_ints("imputed_value_int64s")),
        replaced_float_(node.get_float("replaced_value_float", 0.0F)),
        replaced_int_(node.get_int("replaced_value_int64", 0)) {
    require_one_list(node, floats_.empty(), ints_.empty(), "imputed_value_floats",
                     "imputed_value_int64s");
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    gantry_tensor& output = call.output(0, call.input(0).dtype, x);
    dispatch<FeatureTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* y = static_cast<T*>(output.data);
      if constexpr (std::is_integral_v<T>) {
        replace(call, x, y, ints_, static_cast<T>(replaced_int_), "imputed_value_int64s");
      } else {
        replace(call, x, y, floats_, static_cast<T>(replaced_float_), "imputed_value_floats");
      }
    });
  }

 private:
  template <class T, class V>
  void replace(sdk::Call& call, sdk::Shape shape, T* y, const std::vector<V>& values, T replaced,
               const char* name) const {
    if (values.empty())
      fail(std::string("the element type of the input needs the attribute ") + name);
    const int64_t columns = last_extent(shape);
    const T* imputed = each_column<T>(call, values, columns, name, label());
    const T* x = call.data<T>(0);
    const bool is_nan = replaced != replaced;
    for_each_row(call, shape, [&](int64_t row) {
      const T* from = x + row * columns;
      T* to = y + row * columns;
      for (int64_t i = 0; i < columns; ++i) {
        const bool matches = is_nan ? from[i] != from[i] : from[i] == replaced;
        to[i] = matches ? imputed[i] : from[i];
      }
    });
  }

  std::vector<float> floats_;
  std::vector<int64_t> ints_;
  float replaced_float_;
  int64_t replaced_int_;
};

enum class NormalizerNorm { kMax, kL1, kL2 };

class Normalizer final : public NodeKernel {
 public:
  explicit Normalizer(const sdk::NodeView& node)
      : NodeKernel(node),
        norm_(read_choice<NormalizerNorm>(node, "norm", "MAX", {"MAX", "L1", "L2"})) {}

  void run(sdk::Call& call) const override {
    const FeatureShape shape(call.shape(0), label());
    auto* y = static_cast<float*>(call.output(0, GANTRY_FLOAT, call.shape(0)).data);
    const auto* x = features_as<float>(call, 0);
    const int64_t grain =
        std::max<int64_t>(1, kMlFeatureGrain / std::max<int64_t>(shape.columns, 1));
    call.parallel_for(shape.rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        normalize(x + row * shape.columns, y + row * shape.columns, shape.columns);
    });
  }

 private:
  void normalize(const float* x, float* y, int64_t count) const {
    if (count == 0) return;
    float divisor = divisor_of(x, count);
    if (divisor == 0.0F) divisor = 1.0F;
    simd::div(x, 1, &divisor, 0, y, count);
  }
  [[nodiscard]] float divisor_of(const float* x, int64_t count) const {
    if (norm_ == NormalizerNorm::kL1) return simd::sum_of_magnitudes(x, count);
    if (norm_ == NormalizerNorm::kL2) return std::sqrt(simd::sum_of_squares(x, count, 0.0F));
    float largest = simd::largest(x, count);
    if (!std::isnan(largest)) return largest;
    // NaN is not larger than anything.
    largest = x[0];
    for (int64_t i = 1; i < count; ++i) largest = std::max(largest, x[i]);
    return largest;
  }

  NormalizerNorm norm_;
};

class Binarizer final : public NodeKernel {
 public:
  explicit Binarizer(const sdk::NodeView& node)
      : NodeKernel(node), threshold_(node.get_float("threshold", 0.0F)) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    gantry_tensor& output = call.output(0, call.input(0).dtype, x);
    dispatch<FeatureTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const T* source = call.data<T>(0);
      auto* target = static_cast<T*>(output.data);
      call.parallel_for(x.element_count(), kMlFeatureGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          target[i] =
              static_cast<double>(source[i]) > static_cast<double>(threshold_) ? T{1} : T{0};
        }
      });
    });
  }

 private:
  float threshold_;
};

class OneHotEncoder final : public NodeKernel {
 public:
  explicit OneHotEncoder(const sdk::NodeView& node)
      : NodeKernel(node), allows_others_(node.get_int("zeros", 1) != 0) {
    const std::vector<int64_t> numbers = node.get_ints("cats_int64s");
    const std::vector<std::string> texts = node.get_strings("cats_strings");
    require_one_list(node, numbers.empty(), texts.empty(), "cats_int64s", "cats_strings");
    numbers_ = IntegerPositions(numbers);
    // Of equal categories the last counts, as for integers.
    for (size_t i = 0; i < texts.size(); ++i) texts_[texts[i]] = static_cast<int64_t>(i);
    categories_ = static_cast<int64_t>(numbers.size() + texts.size());
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    Dims shape(x);
    shape.push(categories_);
    auto* y = static_cast<float*>(call.output(0, GANTRY_FLOAT, shape.shape()).data);
    if (call.input(0).dtype == GANTRY_STRING) {
      write(x.element_count(), y, [&](int64_t i) {
        const auto found =
            texts_.find(std::string(sdk::to_view(string_at(call.host(), call.value(0), i))));
        return found == texts_.end() ? IntegerPositions::kNone : found->second;
      });
      return;
    }
    dispatch<FeatureTypes>(call.input(0).dtype, [&](auto type) {
      const auto* source = call.data<typename decltype(type)::type>(0);
      write(x.element_count(), y, [&](int64_t i) { return numbers_.find(whole(source[i])); });
    });
  }

 private:
  /// Writes row after row. `position_of(i)` is the index of the category of element i.
  template <class F>
  void write(int64_t count, float* y, F position_of) const {
    for (int64_t i = 0; i < count; ++i) {
      float* row = y + i * categories_;
      std::fill_n(row, categories_, 0.0F);
      const int64_t position = position_of(i);
      if (position != IntegerPositions::kNone) {
        row[position] = 1.0F;
      } else if (!allows_others_) {
        fail("element " + std::to_string(i) + " is none of the categories");
      }
    }
  }

  template <class T>
  static int64_t whole(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return to_integer<int64_t>(x);
    }
  }

  bool allows_others_;
  int64_t categories_;
  IntegerPositions numbers_;
  std::unordered_map<std::string, int64_t> texts_;
};

/// Concatenates the columns of its inputs, each truncated or zero-padded to its width in
/// inputdimensions.
class FeatureVectorizer final : public NodeKernel {
 public:
  explicit FeatureVectorizer(const sdk::NodeView& node)
      : NodeKernel(node), widths_(node.get_ints("inputdimensions")) {
    if (!widths_.empty() && static_cast<int>(widths_.size()) != node.input_count()) {
      node.fail(GANTRY_INVALID_MODEL, "attribute inputdimensions has " +
                                          std::to_string(widths_.size()) + " numbers for " +
                                          std::to_string(node.input_count()) + " inputs");
    }
    for (const int64_t width : widths_) {
      if (width < 0 || width > INT32_MAX)
        node.fail(GANTRY_INVALID_MODEL, "attribute inputdimensions has a number out of range");
    }
  }

  void run(sdk::Call& call) const override {
    const int64_t rows = FeatureShape(call.shape(0), label()).rows;
    int64_t columns = 0;
    for (int slot = 0; slot < call.input_count(); ++slot) {
      const FeatureShape shape(call.shape(slot), label());
      if (shape.rows != rows) {
        fail("input " + std::to_string(slot) + " has " + std::to_string(shape.rows) +
             " rows, input 0 has " + std::to_string(rows));
      }
      columns += width(slot, shape);
    }
    auto* y = static_cast<float*>(call.output(0, GANTRY_FLOAT, {rows, columns}).data);
    int64_t at = 0;
    for (int slot = 0; slot < call.input_count(); ++slot) {
      const FeatureShape shape(call.shape(slot), label());
      const auto* x = features_as<float>(call, slot);
      const int64_t wanted = width(slot, shape);
      const int64_t copied = std::min(wanted, shape.columns);
      for (int64_t row = 0; row < rows; ++row) {
        float* target = y + row * columns + at;
        std::copy_n(x + row * shape.columns, copied, target);
        std::fill_n(target + copied, wanted - copied, 0.0F);
      }
      at += wanted;
    }
  }

 private:
  [[nodiscard]] int64_t width(int slot, const FeatureShape& shape) const {
    return widths_.empty() ? shape.columns : widths_[static_cast<size_t>(slot)];
  }

  std::vector<int64_t> widths_;
};

/// Selects columns by index.
class ArrayFeatureExtractor final : public NodeKernel {
 public:
  explicit ArrayFeatureExtractor(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    if (x.rank == 0) fail("input 0 is a scalar, needs at least one axis");
    const int64_t columns = x[x.rank - 1];
    const int64_t count = call.shape(1).element_count();
    const auto* indices = call.data<int64_t>(1);
    auto* selected = call.scratch<int32_t>(count);
    if (columns > std::numeric_limits<int32_t>::max()) {
      fail("rows of " + std::to_string(columns) + " features are above the supported " +
               std::to_string(std::numeric_limits<int32_t>::max()),
           GANTRY_UNSUPPORTED);
    }
    for (int64_t i = 0; i < count; ++i) {
      if (indices[i] < 0 || indices[i] >= columns) {
        fail("index " + std::to_string(indices[i]) + " is outside " + std::to_string(columns) +
             " features");
      }
      selected[i] = static_cast<int32_t>(indices[i]);
    }
    Dims shape;
    if (x.rank == 1) shape.push(1);
    for (int i = 0; i < x.rank - 1; ++i) shape.push(x[i]);
    shape.push(count);
    const uint32_t dtype = call.input(0).dtype;
    UnitWriter output(call, 0, dtype, shape.shape());
    const std::byte* units = read_units(call, 0);
    const int64_t rows = x.count(0, x.rank - 1);
    dispatch_unit(dtype, [&](auto type) {
      using U = typename decltype(type)::type;
      const auto* source = reinterpret_cast<const U*>(units);
      U* target = output.as<U>();
      if constexpr (sizeof(U) == 4 || sizeof(U) == 8) {
        simd::take_columns(source, rows, columns, selected, count, target);
      } else {
        for (int64_t row = 0; row < rows; ++row) {
          for (int64_t i = 0; i < count; ++i)
            target[row * count + i] = source[row * columns + selected[i]];
        }
      }
    });
    output.finish();
  }
};

constexpr sdk::DTypeSet kFeaturesAndTexts = kFeatures | sdk::kString;

constexpr sdk::KernelRow kMlFeatureRows[] = {
    ml_row("Scaler", 1, sdk::kLatest, kFeatures, sdk::make<Scaler>),
    ml_row("Imputer", 1, sdk::kLatest, kFeatures, sdk::make<Imputer>),
    ml_row("Normalizer", 1, sdk::kLatest, kFeatures, sdk::make<Normalizer>),
    ml_row("Binarizer", 1, sdk::kLatest, kFeatures, sdk::make<Binarizer>),
    ml_row("OneHotEncoder", 1, sdk::kLatest, kFeaturesAndTexts, sdk::make<OneHotEncoder>),
    ml_row("FeatureVectorizer", 1, sdk::kLatest, kFeatures, sdk::make<FeatureVectorizer>),
    ml_row("ArrayFeatureExtractor", 1, sdk::kLatest, kFeaturesAndTexts,
           sdk::make<ArrayFeatureExtractor>),
};

}  // namespace

sdk::KernelTable feature_kernels() { return sdk::table(kMlFeatureRows); }

}  // namespace gantry::cpu
