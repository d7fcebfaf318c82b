// SPDX-License-Identifier: Apache-2.0
// DFT and STFT. A transform takes one pass per radix; radices are factors of the length, up to
// kMostRadix where the length has such factors.
#include "kernels/signal/fourier.h"

#include <algorithm>

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

constexpr int64_t kMostRadix = 16;

// Radices of a length: products of its prime factors, at most kMostRadix where possible.
Extents radices_of(int64_t points) {
  Extents radices = {1};
  for (int64_t prime = 2; points > 1; ++prime) {
    if (prime * prime > points) prime = points;
    for (; points % prime == 0; points /= prime) {
      if (radices.back() * prime <= kMostRadix || radices.back() == 1) {
        radices.back() *= prime;
      } else {
        radices.push_back(prime);
      }
    }
  }
  return radices;
}

// The transform of one plan: layout of the source and extent of the result.
struct Transform {
  int64_t points = 1;
  int64_t kept = 1;
  int64_t outer = 1, inner = 1;
  int source_parts = 1, result_parts = 2;  // 1: real
  bool is_inverse = false;
  bool is_half = false;                    // the source is the first half of a Hermitian spectrum
  int64_t given = 0;                       // number of points that the source has
  int64_t frames = 1;                      // frames per batch entry
  int64_t frame_step = 0, batch_step = 0;  // strides in points of the source
  int window_slot = -1;
};

std::string define(const char* name, int64_t value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}

void plan_transform(Planner& planner, const Transform& t, const Buffer& y) {
  if (t.points >= int64_t{1} << 31) {
    throw sdk::Error(GANTRY_UNSUPPORTED, "a transform of " + std::to_string(t.points) +
                                             " points, expected fewer than 2^31");
  }
  const uint32_t dtype = planner.input(0).dtype;
  const bool is_double = dtype == GANTRY_DOUBLE;
  const uint64_t complex_bytes = is_double ? 16 : 8;
  const std::string computed = std::string("\ntypedef ") + computed_name(dtype) + " C;\n";
  std::shared_ptr<CachedMemory> cached;
  const Buffer twiddles =
      planner.begin_cached(cached, static_cast<uint64_t>(t.points) * complex_bytes);
  TwiddleParameters all = {};
  all.points = t.points;
  planner.launch(kernel_source({"index.h", "fourier.h"},
                               computed + std::string(kernel_text("fourier_twiddles.cu"))),
                 blocks_for(planner, t.points), kThreads, all, {{&all.result, twiddles}});
  planner.end_cached(twiddles);
  FourierParameters p = {};
  p.points = t.points;
  p.given = t.given;
  p.frame_step = t.frame_step;
  p.batch_step = t.batch_step;
  p.inner = divisor_of(t.inner);
  p.frames = divisor_of(t.frames);
  const Extents radices = radices_of(t.points);
  const auto bytes = static_cast<uint64_t>(t.outer * t.points * t.inner) * complex_bytes;
  Buffer from = Planner::in(0);
  Buffer spare;
  int64_t done = 1;  // product of the radices so far
  for (size_t pass = 0; pass < radices.size(); ++pass) {
    const bool is_first = pass == 0;
    const bool is_last = pass + 1 == radices.size();
    // Ping-pong between two scratch buffers.
    const Buffer to = is_last ? y : pass < 2 ? planner.scratch(bytes) : spare;
    p.radix = radices[pass];
    p.done = divisor_of(done);
    p.step = divisor_of(t.points / done / p.radix);
    const int64_t kept = is_last ? t.kept : t.points;
    p.kept = divisor_of(kept);
    p.count = t.outer * kept * t.inner;
    const std::string body =
        std::string("\ntypedef ") + index_type(p.count < int64_t{1} << 31) + " Index;\ntypedef " +
        type_name(dtype) + " T;" + computed + define("IS_FIRST", is_first ? 1 : 0) +
        define("IS_LAST", is_last ? 1 : 0) + define("IS_INVERSE", t.is_inverse ? 1 : 0) +
        define("SOURCE_PARTS", t.source_parts) + define("RESULT_PARTS", t.result_parts) +
        define("IS_HALF", t.is_half ? 1 : 0) + std::string(kernel_text("fourier.cu"));
    std::vector<std::pair<const void* const*, Buffer>> addresses = {
        {&p.result, to}, {&p.source, from}, {&p.twiddles, twiddles}};
    if (is_first && t.window_slot >= 0)
      addresses.emplace_back(&p.window, Planner::in(t.window_slot));
    planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "fourier.h"}, body),
                   blocks_for(planner, p.count), kThreads, p, addresses);
    spare = from;
    from = to;
    done *= p.radix;
  }
}

// The axis is an attribute in version 17, and an input from version 20 on.
class Dft final : public Operation {
 public:
  explicit Dft(const NodeView& node)
      : axis_(node.get_int("axis", node.since_version() < 20 ? 1 : -2)),
        is_inverse_(node.get_int("inverse", 0) != 0),
        is_onesided_(node.get_int("onesided", 0) != 0) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const int64_t parts = x.shape.empty() ? 0 : x.shape.back();
    if (x.rank() < 2 || parts < 1 || parts > 2 || (is_onesided_ && !is_inverse_ && parts == 2)) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "the shape " + text_of(x.shape) +
                           " is not one of numbers that can be transformed: the last axis has real "
                           "(1) or complex (2) numbers, and a onesided spectrum is of real ones");
    }
    const int64_t given_axis = planner.has_input(2) ? planner.host_integers(2).at(0) : axis_;
    const auto axis = static_cast<size_t>(checked_axis(given_axis, x.rank(), "axis"));
    if (axis + 1 == x.shape.size())
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the last axis has no transform");
    Transform t;
    t.is_inverse = is_inverse_;
    t.is_half = is_onesided_ && is_inverse_;
    t.given = x.shape[axis];
    t.points = planner.has_input(1) ? planner.host_integers(1).at(0)
               : t.is_half          ? 2 * (t.given - 1)
                                    : t.given;
    if (t.points < 1) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "a transform of " + std::to_string(t.points) + " points cannot be made");
    }
    t.kept = is_onesided_ && !is_inverse_ ? t.points / 2 + 1 : t.points;
    t.outer = count_of(x.shape, 0, axis);
    t.inner = count_of(x.shape, axis + 1, x.shape.size() - 1);
    t.batch_step = t.given * t.inner;
    t.source_parts = static_cast<int>(parts);
    t.result_parts = t.is_half ? 1 : 2;
    Extents shape = x.shape;
    shape[axis] = t.kept;
    shape.back() = t.result_parts;
    const Buffer y = planner.output(0, x.dtype, shape);
    if (count_of(shape) > 0) plan_transform(planner, t, y);
  }

 private:
  int64_t axis_;
  bool is_inverse_;
  bool is_onesided_;
};

class Stft final : public Operation {
 public:
  explicit Stft(const NodeView& node) : is_onesided_(node.get_int("onesided", 1) != 0) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const int64_t parts = x.rank() == 3 ? x.shape[2] : 1;
    if (x.rank() < 2 || x.rank() > 3 || parts < 1 || parts > 2 || (is_onesided_ && parts == 2)) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "the signal has the shape " + text_of(x.shape) +
                           ", expected [batch, length, 1], or 2 numbers of a twosided spectrum");
    }
    Transform t;
    t.points = planner.has_input(3)   ? planner.host_integers(3).at(0)
               : planner.has_input(2) ? planner.input(2).element_count()
                                      : x.shape[1];
    const int64_t step = planner.host_integers(1).at(0);
    const bool fits = !planner.has_input(2) || planner.shape(2) == Extents{t.points};
    if (t.points < 1 || t.points > x.shape[1] || step < 1 || !fits) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "frames of " + std::to_string(t.points) +
                                                    " numbers at steps of " + std::to_string(step) +
                                                    " do not fit the signal " + text_of(x.shape) +
                                                    (fits ? "" : ", or the window"));
    }
    t.kept = is_onesided_ ? t.points / 2 + 1 : t.points;
    t.frames = (x.shape[1] - t.points) / step + 1;
    t.outer = x.shape[0] * t.frames;
    t.given = t.points;
    t.frame_step = step;
    t.batch_step = x.shape[1];
    t.source_parts = static_cast<int>(parts);
    if (planner.has_input(2)) t.window_slot = 2;
    const Extents shape = {x.shape[0], t.frames, t.kept, 2};
    const Buffer y = planner.output(0, x.dtype, shape);
    if (count_of(shape) > 0) plan_transform(planner, t, y);
  }

 private:
  bool is_onesided_;
};

constexpr sdk::KernelRow kRows[] = {
    {"DFT", 17, sdk::kLatest, sdk::kFloats, make<Dft, 6>, host_marks(6)},
    {"STFT", 17, sdk::kLatest, sdk::kFloats, make<Stft, 10>, host_marks(10)},
};

}  // namespace

sdk::KernelTable fourier_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
