// SPDX-License-Identifier: Apache-2.0
// RandomNormal, RandomUniform, their Like forms, Bernoulli and Multinomial. The generator is
// counter-based: a hash of a key and a counter, so element i does not depend on the number of
// threads. With a seed every run gives the same values; without one every kernel and every run has
// its own key.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "attributes.h"
#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"
#include "simd/vector_math.h"

namespace gantry::cpu {

namespace {

constexpr int64_t kRandomGrain = 4096;

/// Hashes 64 bits; a bijection.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93U;
  x = (x ^ (x >> 29)) * 0xA0761D6478BD642FU;
  return x ^ (x >> 32);
}

/// The random numbers of one run.
class Stream {
 public:
  explicit Stream(uint64_t key) : key_(mix(key + 0x9E3779B97F4A7C15U)) {}
  /// Uniform in [0, 1).
  [[nodiscard]] double uniform(uint64_t counter) const {
    return static_cast<double>(mix(mix(counter + key_) + key_) >> 11) * 0x1p-53;
  }
  /// Normal, with mean 0 and standard deviation 1. Uses counters 2 i and 2 i + 1.
  [[nodiscard]] double normal(uint64_t i) const {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(2 * i)));
    return radius * std::cos(2.0 * std::numbers::pi * uniform(2 * i + 1));
  }
  /// y[k] = normal(first + k), with SIMD; intermediate values are rounded to f32.
  void normals(uint64_t first, float* y, int64_t count) const {
    float angles[kNormals];
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t counter = 2 * (first + static_cast<uint64_t>(i));
      y[i] = static_cast<float>(1.0 - uniform(counter));
      angles[i] = static_cast<float>(2.0 * std::numbers::pi * uniform(counter + 1));
    }
    const float factor = -2.0F;
    simd::log(y, y, count, nullptr);
    simd::mul(y, 1, &factor, 0, y, count);
    simd::sqrt(y, y, count, nullptr);
    simd::cos(angles, angles, count, nullptr);
    simd::mul(y, 1, angles, 1, y, count);
  }
  static constexpr int64_t kNormals = 256;  ///< most values of one call of normals()

 private:
  uint64_t key_;
};

class RandomKernel : public NodeKernel {
 protected:
  explicit RandomKernel(const sdk::NodeView& node) : NodeKernel(node), has_seed_(node.has("seed")) {
    if (has_seed_) {
      key_ = std::bit_cast<uint32_t>(node.get_float("seed", 0));
    } else {
      std::random_device device;
      key_ = (static_cast<uint64_t>(device()) << 32) | device();
    }
  }
  [[nodiscard]] Stream stream() const {
    return Stream(has_seed_ ? key_ : key_ + mix(runs_.fetch_add(1) + 1));
  }

 private:
  bool has_seed_;
  uint64_t key_;
  /// Number of runs, which makes the keys of an unseeded node distinct.
  mutable std::atomic<uint64_t> runs_{0};
};

enum class Distribution { kNormal, kUniform };

/// Shape and type come from attributes, or (kIsLike) from input 0 where there is no attribute.
template <Distribution kDistribution, bool kIsLike>
class RandomTensor final : public RandomKernel {
 public:
  explicit RandomTensor(const sdk::NodeView& node)
      : RandomKernel(node),
        shape_(node.get_ints("shape")),
        dtype_(static_cast<uint32_t>(
            node.get_int("dtype", kIsLike ? GANTRY_UNDEFINED : GANTRY_FLOAT))) {
    if constexpr (kDistribution == Distribution::kNormal) {
      offset_ = node.get_float("mean", 0);
      scale_ = node.get_float("scale", 1);
    } else {
      offset_ = node.get_float("low", 0);
      scale_ = node.get_float("high", 1) - offset_;
    }
  }
  void run(sdk::Call& call) const override {
    const sdk::Shape shape =
        kIsLike ? call.shape(0) : sdk::Shape(shape_.data(), static_cast<int>(shape_.size()));
    const int64_t count = count_of(shape);
    const uint32_t dtype = dtype_ == GANTRY_UNDEFINED ? call.input(0).dtype : dtype_;
    const Stream random = stream();
    dispatch<FloatTypes>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* output = static_cast<T*>(call.output(0, dtype, shape).data);
      call.parallel_for(count, kRandomGrain, [&](int64_t begin, int64_t end) {
        if constexpr (kDistribution == Distribution::kNormal && std::is_same_v<T, float>)
          return fill_normal(random, output, begin, end);
        for (int64_t i = begin; i < end; ++i) {
          const auto counter = static_cast<uint64_t>(i);
          const double value = kDistribution == Distribution::kNormal ? random.normal(counter)
                                                                      : random.uniform(counter);
          output[i] = static_cast<T>(static_cast<Compute<T>>(offset_ + scale_ * value));
        }
      });
    });
  }

 private:
  void fill_normal(const Stream& random, float* y, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; i += Stream::kNormals) {
      const int64_t count = std::min(Stream::kNormals, end - i);
      random.normals(static_cast<uint64_t>(i), y + i, count);
      for (int64_t k = i; k < i + count; ++k)
        y[k] = static_cast<float>(offset_ + scale_ * static_cast<double>(y[k]));
    }
  }

  std::vector<int64_t> shape_;
  uint32_t dtype_;
  double offset_ = 0;
  double scale_ = 1;
};

/// Bernoulli: 1 with the probability given by the input.
class Bernoulli final : public RandomKernel {
 public:
  explicit Bernoulli(const sdk::NodeView& node)
      : RandomKernel(node),
        dtype_(static_cast<uint32_t>(node.get_int("dtype", GANTRY_UNDEFINED))) {}
  void run(sdk::Call& call) const override {
    const uint32_t dtype = dtype_ == GANTRY_UNDEFINED ? call.input(0).dtype : dtype_;
    const int64_t count = call.shape(0).element_count();
    const Stream random = stream();
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto input_type) {
      using P = typename decltype(input_type)::type;
      const auto* probabilities = call.data<P>(0);
      dispatch<Concat<NumberTypes, BoolTypes>>(dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        auto* output = static_cast<T*>(call.output(0, dtype, call.shape(0)).data);
        call.parallel_for(count, kRandomGrain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const auto probability = static_cast<double>(static_cast<Compute<P>>(probabilities[i]));
            // Without a branch, which would be mispredicted.
            const bool is_one = random.uniform(static_cast<uint64_t>(i)) < probability;
            if constexpr (std::is_arithmetic_v<T>) {
              output[i] = static_cast<T>(is_one);
            } else {
              output[i] = is_one ? T(1) : T(0);
            }
          }
        });
      });
    });
  }

 private:
  uint32_t dtype_;
};

/// Multinomial: draws classes by unnormalised log-probabilities, [batch, class].
class Multinomial final : public RandomKernel {
 public:
  explicit Multinomial(const sdk::NodeView& node)
      : RandomKernel(node),
        samples_(read_integer(node, "sample_size", 1, 0)),
        dtype_(static_cast<uint32_t>(node.get_int("dtype", GANTRY_INT32))) {}
  void run(sdk::Call& call) const override {
    require_rank(call, 0, 2);
    const int64_t batches = call.shape(0)[0];
    const int64_t classes = call.shape(0)[1];
    if (classes == 0) fail("there are no classes to draw from");
    const int64_t shape[2] = {batches, samples_};
    if (count_of({shape, 2}) == 0) return static_cast<void>(call.output(0, dtype_, {shape, 2}));
    auto* sums = call.scratch<double>(classes);
    const Stream random = stream();
    dispatch<TypeList<int32_t, int64_t>>(dtype_, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* output = static_cast<T*>(call.output(0, dtype_, {shape, 2}).data);
      for (int64_t batch = 0; batch < batches; ++batch) {
        accumulate(call, batch * classes, classes, sums);
        for (int64_t i = batch * samples_; i < (batch + 1) * samples_; ++i) {
          const double drawn = random.uniform(static_cast<uint64_t>(i)) * sums[classes - 1];
          const int64_t position = std::upper_bound(sums, sums + classes, drawn) - sums;
          output[i] = static_cast<T>(std::min(position, classes - 1));
        }
      }
    });
  }

 private:
  /// Cumulative sums of the probabilities, scaled by the largest.
  void accumulate(sdk::Call& call, int64_t offset, int64_t classes, double* sums) const {
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using P = typename decltype(type)::type;
      const auto* logits = call.data<P>(0) + offset;
      for (int64_t i = 0; i < classes; ++i)
        sums[i] = static_cast<double>(static_cast<Compute<P>>(logits[i]));
    });
    const double largest = *std::max_element(sums, sums + classes);
    double sum = 0;
    for (int64_t i = 0; i < classes; ++i) {
      sum += std::exp(sums[i] - largest);
      sums[i] = sum;
    }
    if (!(sum > 0)) fail("the log-probabilities of a row give no distribution");
  }

  int64_t samples_;
  uint32_t dtype_;
};

/// A row whose element type is that of the output.
constexpr sdk::KernelRow random_row(const char* op_type, sdk::Factory factory) {
  sdk::KernelRow row = {op_type, 1, sdk::kLatest, sdk::kFloats, factory};
  row.typed_slot = -1;
  return row;
}

constexpr sdk::KernelRow kRandomRows[] = {
    random_row("RandomNormal", sdk::make<RandomTensor<Distribution::kNormal, false>>),
    random_row("RandomNormalLike", sdk::make<RandomTensor<Distribution::kNormal, true>>),
    random_row("RandomUniform", sdk::make<RandomTensor<Distribution::kUniform, false>>),
    random_row("RandomUniformLike", sdk::make<RandomTensor<Distribution::kUniform, true>>),
    {"Bernoulli", 15, sdk::kLatest, sdk::kFloats, sdk::make<Bernoulli>},
    {"Multinomial", 7, sdk::kLatest, sdk::kFloats, sdk::make<Multinomial>},
};

}  // namespace

sdk::KernelTable random_kernels() { return sdk::table(kRandomRows); }

}  // namespace gantry::cpu
