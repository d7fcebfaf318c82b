// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/selection.h"

#include <gantry/sdk/mutex.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <unordered_map>
#include <vector>

#include "conv/winograd/cost_model.h"
#include "conv/winograd/weights.h"
#include "onednn/library.h"

namespace gantry::x86::winograd {
namespace {

/// Multiply-adds below which no gain is worth measuring.
constexpr double kLeastWork = 4e6;
constexpr int64_t kFewestChannels = 8;
constexpr int64_t kMostPadding = 2;  // with more, whole tiles are padding
/// Multiply-adds of the convolution that is timed; a larger one is cut to this.
constexpr double kMeasuredWork = 6e7;
constexpr int64_t kMeasuredBytes = 10 << 20;  // of its weights
constexpr int64_t kFewestFilters = 64;        // of the cut convolution
constexpr int64_t kFewestRows = 28;

// The gain must be this fraction of the direct time, and this many core seconds for each byte by
// which the weights grow.
constexpr double kLeastGain = 0.1;
constexpr double kSecondsPerByte = 50e-6 / (1 << 20);

// The cost model's ratio to the direct cost is trusted below the first and above the second bound;
// in between the convolution is timed. The model is seldom wrong by a fifth.
constexpr double kSurelyFaster = 0.8;
constexpr double kSurelySlower = 1.05;
constexpr double kCostPerByte = 4;  // kSecondsPerByte in multiply-adds
constexpr int kFewestLanes = 8;     // the cost model holds for AVX2 and AVX-512 only

double work_of(const Geometry& geometry) {
  return static_cast<double>(geometry.batch * geometry.out_height * geometry.out_width) *
         static_cast<double>(geometry.channels * geometry.filters * kTaps);
}

/// Padding below and to the right.
Dims pads_end(const Geometry& g) {
  return {g.out_height + 2 - g.height - g.pad_top, g.out_width + 2 - g.width - g.pad_left};
}

int64_t most_padding(const Geometry& g) {
  const Dims ends = pads_end(g);
  return std::max({g.pad_top, g.pad_left, ends[0], ends[1]});
}

/// A candidate of Winograd.
struct Candidate {
  Tile tile;
  Form form;
};

Candidate candidate_of(const Geometry& g, Tile tile) {
  return {tile, form_of(g.filters, g.channels, tile)};
}

int64_t weights_bytes(const Geometry& g, Candidate candidate) {
  return winograd::weights_bytes(g.filters, g.channels, candidate.tile, candidate.form);
}

/// Bytes by which packed weights exceed those of the model.
int64_t growth_of(const Geometry& g, Candidate candidate) {
  return weights_bytes(g, candidate) -
         g.filters * g.channels * kTaps * static_cast<int64_t>(sizeof(float));
}

/// A convolution with fewer images, rows and filters that is quick to time.
Geometry cut(Geometry geometry, Candidate candidate) {
  const auto is_large = [&] {
    return work_of(geometry) > kMeasuredWork || weights_bytes(geometry, candidate) > kMeasuredBytes;
  };
  while (work_of(geometry) > kMeasuredWork && geometry.batch > 1) geometry.batch /= 2;
  while (work_of(geometry) > kMeasuredWork && geometry.out_height >= 2 * kFewestRows) {
    const int64_t rows = geometry.out_height / 2;
    geometry.out_height -= rows;
    geometry.height = std::max<int64_t>(1, geometry.height - rows);
  }
  while (is_large() && geometry.filters >= 2 * kFewestFilters) geometry.filters /= 2;
  return geometry;
}

/// Initialised memory from the heap, which reuses that of the last shape: mapping new pages would
/// take as long as the runs that are timed.
class Tensor {
 public:
  explicit Tensor(int64_t size_bytes) {
    constexpr int64_t kAlignment = 64;
    const auto rounded = static_cast<size_t>((std::max(size_bytes, kAlignment) + kAlignment - 1) /
                                             kAlignment * kAlignment);
    data_.reset(static_cast<float*>(std::aligned_alloc(kAlignment, rounded)));
    if (!data_) throw std::bad_alloc();
    constexpr float kOrdinary = 0.01F;
    std::fill_n(data_.get(), rounded / sizeof(float), kOrdinary);
  }
  [[nodiscard]] float* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* data) const { std::free(data); }
  };
  std::unique_ptr<float[], Free> data_;
};

int64_t elements_of(int64_t batch, int64_t height, int64_t width, int64_t channels) {
  return batch * height * width * channels;
}

/// oneDNN's direct convolution with a Relu.
class Direct {
 public:
  Direct(const Geometry& g, float* source, float* target, float* bias)
      : description_(describe(g)),
        weights_(static_cast<int64_t>(description_.weights_desc().get_size())),
        scratch_(static_cast<int64_t>(description_.scratchpad_desc().get_size())),
        launch_(
            "a convolution timed against Winograd's", dnnl::convolution_forward(description_),
            {{DNNL_ARG_SRC, {description_.src_desc(), engine(), source}},
             {DNNL_ARG_WEIGHTS, {description_.weights_desc(), engine(), weights_.data()}},
             {DNNL_ARG_BIAS, {description_.bias_desc(), engine(), bias}},
             {DNNL_ARG_DST, {description_.dst_desc(), engine(), target}},
             {DNNL_ARG_SCRATCHPAD, {description_.scratchpad_desc(), engine(), scratch_.data()}}}) {}
  void run() const { launch_.run(stream_); }

 private:
  using Description = dnnl::convolution_forward::primitive_desc;
  static Description describe(const Geometry& g) {
    dnnl::post_ops relu;
    relu.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attr.set_post_ops(relu);
    const Desc source = desc_f32({g.batch, g.channels, g.height, g.width}, Tag::acdb);
    const Desc weights = desc_f32({g.filters, g.channels, 3, 3}, Tag::any);
    const Desc target = desc_f32({g.batch, g.filters, g.out_height, g.out_width}, Tag::acdb);
    return {engine(),
            dnnl::prop_kind::forward_inference,
            dnnl::algorithm::convolution_direct,
            source,
            weights,
            desc_f32({g.filters}, Tag::a),
            target,
            {1, 1},
            {0, 0},
            {g.pad_top, g.pad_left},
            pads_end(g),
            attr};
  }

  Description description_;
  Tensor weights_;
  Tensor scratch_;
  Launch launch_;
  dnnl::stream stream_{engine()};
};

/// Winograd convolution with a Relu.
class Own {
 public:
  Own(const Geometry& g, Candidate candidate, int threads, float* source, float* target,
      float* bias)
      : convolution_(g, candidate.tile, candidate.form, threads, {{Step::Kind::kRelu, 0, 0}}),
        weights_(weights_bytes(g, candidate)),
        scratch_(convolution_.scratch_bytes()),
        operands_{source, weights_.data(), bias, nullptr, target} {}
  void run() const { convolution_.run(operands_, reinterpret_cast<std::byte*>(scratch_.data())); }

 private:
  Convolution convolution_;
  Tensor weights_;
  Tensor scratch_;
  Operands operands_;
};

template <class Run>
void measure(const Run& run, double& least) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  run();
  least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
}

/// Shortest times of one run, in seconds.
struct Times {
  double direct = 0;
  double two = 0;   ///< tiles of 2 x 2
  double four = 0;  ///< tiles of 4 x 4
};

/// Times the candidates in interleaved rounds. After two rounds, slow ones are dropped.
Times measure_all(const Geometry& g, Candidate of_two, Candidate of_four, int threads) {
  constexpr int kRounds = 3;
  constexpr int kRoundsOfAll = 2;
  constexpr double kFarBehind = 1.25;
  constexpr double kLong = 1e9;
  const Tensor source(elements_of(g.batch, g.height, g.width, g.channels) * int64_t{sizeof(float)});
  const Tensor target(elements_of(g.batch, g.out_height, g.out_width, g.filters) *
                      int64_t{sizeof(float)});
  const Tensor bias(panels_of(g.filters) * code().columns * int64_t{sizeof(float)});
  Times times{kLong, kLong, kLong};
  with_threads(threads, [&] {
    const Direct direct(g, source.data(), target.data(), bias.data());
    const Own two(g, of_two, threads, source.data(), target.data(), bias.data());
    const Own four(g, of_four, threads, source.data(), target.data(), bias.data());
    for (int round = 0; round < kRounds; ++round) {
      const double best = std::min({times.direct, times.two, times.four});
      const auto takes_part = [&](double least) {
        return round < kRoundsOfAll || least < best * kFarBehind;
      };
      const std::array parts = {takes_part(times.direct), takes_part(times.two),
                                takes_part(times.four)};
      if (std::count(parts.begin(), parts.end(), true) < 2) break;
      if (parts[0]) measure([&] { direct.run(); }, times.direct);
      if (parts[1]) measure([&] { two.run(); }, times.two);
      if (parts[2]) measure([&] { four.run(); }, times.four);
    }
  });
  return times;
}

std::vector<int64_t> key_of(const Geometry& g, int threads) {
  return {g.batch,      g.height,    g.width,   g.channels, g.filters,
          g.out_height, g.out_width, g.pad_top, g.pad_left, threads};
}

/// The choice that the times suggest. `two_bytes` and `four_bytes`: growth_of() the weights.
std::optional<Tile> weigh(const Times& times, int threads, int64_t two_bytes, int64_t four_bytes) {
  const auto cost = [&](double seconds, int64_t bytes) {
    return seconds * threads + kSecondsPerByte * static_cast<double>(bytes);
  };
  const double two = cost(times.two, two_bytes);
  const double four = cost(times.four, four_bytes);
  const bool is_four = four < two;
  if (std::min(two, four) >= cost(times.direct, 0)) return std::nullopt;
  if ((is_four ? times.four : times.two) > times.direct * (1 - kLeastGain)) return std::nullopt;
  return is_four ? Tile::k4 : Tile::k2;
}

/// The cost model's choice; `is_sure`: nothing need be timed.
struct CostModel {
  bool is_sure = false;
  std::optional<Tile> tile;
};

CostModel forecast(const Geometry& g, Candidate two, Candidate four) {
  if (code().lanes < kFewestLanes) return {};
  const double direct = direct_cost(g);
  const auto cost = [&](Candidate candidate) {
    return own_cost(g, candidate.tile, candidate.form) +
           kCostPerByte * static_cast<double>(growth_of(g, candidate));
  };
  const double least = std::min(cost(two), cost(four));
  if (least > direct * kSurelySlower) return {true, std::nullopt};
  return {least < direct * kSurelyFaster, least == cost(two) ? Tile::k2 : Tile::k4};
}

}  // namespace

std::optional<Tile> faster_tile(const Geometry& geometry, int threads) {
  if (geometry.channels < kFewestChannels || geometry.filters < kFewestChannels ||
      work_of(geometry) < kLeastWork || most_padding(geometry) > kMostPadding)
    return std::nullopt;
  const Candidate two = candidate_of(geometry, Tile::k2);
  const Candidate four = candidate_of(geometry, Tile::k4);
  const CostModel expected = forecast(geometry, two, four);
  if (expected.is_sure) return expected.tile;
  static sdk::Mutex mutex;
  static auto* const known GANTRY_PT_GUARDED_BY(mutex) =
      new std::map<std::vector<int64_t>, std::optional<Tile>>;
  const sdk::MutexLock lock(mutex);
  const auto [entry, is_new] = known->try_emplace(key_of(geometry, threads));
  if (!is_new) return entry->second;
  // The cut convolution is timed with the form of the whole one's weights.
  const Geometry measured = cut(geometry, four);
  Times times = measure_all(measured, two, four, threads);
  const double scale = work_of(geometry) / work_of(measured);
  for (double* time : {&times.direct, &times.two, &times.four}) *time *= scale;
  entry->second = weigh(times, threads, growth_of(geometry, two), growth_of(geometry, four));
  return entry->second;
}

}  // namespace gantry::x86::winograd
