// SPDX-License-Identifier: Apache-2.0
// DFT, STFT and MelWeightMatrix. Transforms of f64, and transforms of lengths with a prime factor
// above 7, are computed in f64, others in f32.
#include <gantry/sdk/mutex.h>
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "dispatch.h"
#include "families.h"
#include "integer_math.h"
#include "node_kernel.h"
#include "signal/fourier_line.h"

namespace gantry::cpu {
namespace {

/// Longer transforms are refused, so that the sizes derived from the length cannot overflow.
constexpr int64_t kMostPoints = int64_t{1} << 32;

template <class R, class T>
R load(const T* data, int64_t index) {
  return static_cast<R>(static_cast<Compute<T>>(data[index]));
}
template <class T, class R>
void store(T* data, int64_t index, R value) {
  data[index] = static_cast<T>(static_cast<Compute<T>>(value));
}

/// Calls f(Type<R>{}) with the type in which transforms of T of this length are computed.
template <class T, class F>
void dispatch_precision(int64_t points, F f) {
  if constexpr (std::is_same_v<T, double>) {
    f(Type<double>{});
  } else if (is_smooth_length(points)) {
    f(Type<float>{});
  } else {
    f(Type<double>{});
  }
}

/// Tables of longer transforms are not cached: they take as much memory as the signal.
constexpr int64_t kLongestKept = int64_t{1} << 20;

/// Caches the tables of the most recent transform; most nodes only ever use one. Any thread.
template <class R>
class LastLine {
 public:
  std::shared_ptr<const FourierLine<R>> get(const FourierShape& shape) const {
    if (shape.points > kLongestKept) return std::make_shared<const FourierLine<R>>(shape);
    const sdk::MutexLock lock(mutex_);
    if (!last_ || last_->shape() != shape) last_ = std::make_shared<const FourierLine<R>>(shape);
    return last_;
  }

 private:
  mutable sdk::Mutex mutex_;
  mutable std::shared_ptr<const FourierLine<R>> last_ GANTRY_GUARDED_BY(mutex_);
};
/// One cache for each precision.
class LastLines {
 public:
  template <class R>
  std::shared_ptr<const FourierLine<R>> get(const FourierShape& shape) const {
    if constexpr (std::is_same_v<R, float>) {
      return single_.get(shape);
    } else {
      return double_.get(shape);
    }
  }

 private:
  LastLine<float> single_;
  LastLine<double> double_;
};

/// Transforms many lines in parallel, each thread with its own scratch memory.
template <class R>
class Lines {
 public:
  Lines(sdk::Call& call, const FourierLine<R>& plan, int64_t lines)
      : call_(call), plan_(plan), lines_(lines) {
    const FourierShape& shape = plan.shape();
    const int64_t grain = std::max<int64_t>(1, 4096 / shape.points);
    parts_ = std::clamp<int64_t>(lines / grain, 1, call.thread_count());
    in_size_ = Fourier<R>::pitch(shape.input_size());
    out_size_ = Fourier<R>::pitch(shape.output_size());
    per_part_ = in_size_ + out_size_ + plan.work_size();
    memory_ = call.scratch<R>(parts_ * per_part_);
  }

  /// fill(line, buffer) returns a pointer to the elements of a line, which it may write to
  /// `buffer`. Results are written to `target`, line by line, or if it is null passed to take(line,
  /// results).
  template <class Fill, class Take>
  void run(Fill fill, R* target, Take take) const {
    call_.parallel_for(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        R* in = memory_ + part * per_part_;
        R* out = in + in_size_;
        for (int64_t i = lines_ * part / parts_; i < lines_ * (part + 1) / parts_; ++i) {
          R* results = target ? target + i * plan_.shape().output_size() : out;
          plan_.run(fill(i, in), results, out + out_size_);
          if (!target) take(i, out);
        }
      }
    });
  }

 private:
  sdk::Call& call_;
  const FourierLine<R>& plan_;
  int64_t lines_;
  int64_t parts_;
  int64_t in_size_;
  int64_t out_size_;
  int64_t per_part_;
  R* memory_;
};

/// DFT: the axis is an attribute in version 17 and an input in version 20.
class Dft final : public NodeKernel {
 public:
  explicit Dft(const sdk::NodeView& node)
      : NodeKernel(node),
        axis_(node.get_int("axis", node.since_version() < 20 ? 1 : -2)),
        is_inverse_(node.get_int("inverse", 0) != 0),
        is_onesided_(node.get_int("onesided", 0) != 0) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    const int64_t parts = x.rank > 0 ? x[x.rank - 1] : 0;
    if (x.rank < 2 || parts < 1 || parts > 2) {
      fail("input 0 has shape " + to_string(x) +
           ", needs at least two axes, the last of extent 1 (real) or 2 (complex)");
    }
    const int axis = checked_axis(call.has_input(2) ? read_int(call, 2) : axis_, x.rank);
    if (axis == x.rank - 1) fail("the last axis holds real and imaginary parts, it has no DFT");
    const bool returns_real = is_onesided_ && is_inverse_;
    if (is_onesided_ && !is_inverse_ && parts == 2) fail("a onesided transform needs real input");
    const int64_t given = x[axis];
    int64_t points = returns_real ? 2 * (given - 1) : given;
    if (call.has_input(1)) points = read_int(call, 1);
    if (points < 1 || points > kMostPoints)
      fail("a DFT of length " + std::to_string(points) + " cannot be formed");
    const FourierShape line = {points, returns_real ? 2 : parts, is_inverse_, is_onesided_};
    Dims shape(x);
    shape[axis] = returns_real ? points : line.spectrum();
    shape[x.rank - 1] = returns_real ? 1 : 2;
    gantry_tensor& output = call.output(0, call.input(0).dtype, shape.shape());
    if (count_of(shape.shape()) == 0) return;
    const Layout layout = {x.count(axis + 1, x.rank - 1), given, parts};
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      dispatch_precision<T>(points, [&](auto real) {
        transform<typename decltype(real)::type>(
            call, layout, line, x.count(0, axis) * layout.inner, static_cast<T*>(output.data));
      });
    });
  }

 private:
  struct Layout {
    int64_t inner;  ///< lines whose elements are interleaved
    int64_t given;  ///< points of a line of the input
    int64_t parts;  ///< values of a point of the input: 1 or 2
  };

  template <class R, class T>
  void transform(sdk::Call& call, const Layout& e, const FourierShape& line, int64_t lines,
                 T* y) const {
    const T* x = call.data<T>(0);
    // True if lines are contiguous; otherwise their points are `inner` apart.
    const bool is_plain = std::is_same_v<R, T> && e.inner == 1;
    const int64_t in_size = line.input_size();
    const int64_t in_parts = in_size / (line.returns_real() ? line.spectrum() : line.points);
    const auto fill = [&](int64_t i, R* buffer) -> const R* {
      const T* source = x + (i / e.inner * e.given * e.inner + i % e.inner) * e.parts;
      if constexpr (std::is_same_v<R, T>) {
        if (is_plain && e.parts == in_parts && e.given * e.parts >= in_size) return source;
      }
      const int64_t count = std::min(e.given, in_size / in_parts);
      for (int64_t k = 0; k < count; ++k) {
        const T* point = source + k * e.inner * e.parts;
        buffer[k * in_parts] = load<R>(point, 0);
        if (in_parts == 2) buffer[2 * k + 1] = e.parts == 2 ? load<R>(point, 1) : R{0};
      }
      std::fill(buffer + count * in_parts, buffer + in_size, R{0});
      return buffer;
    };
    const int64_t out_parts = line.returns_real() ? 1 : 2;
    const int64_t kept = line.output_size() / out_parts;
    const auto take = [&](int64_t i, const R* results) {
      T* target = y + (i / e.inner * kept * e.inner + i % e.inner) * out_parts;
      for (int64_t k = 0; k < kept; ++k) {
        for (int64_t part = 0; part < out_parts; ++part)
          store(target, k * e.inner * out_parts + part, results[k * out_parts + part]);
      }
    };
    const auto plan = lines_.get<R>(line);
    R* direct = nullptr;
    if constexpr (std::is_same_v<R, T>) direct = is_plain ? y : nullptr;
    Lines<R>(call, *plan, lines).run(fill, direct, take);
  }

  int64_t axis_;
  bool is_inverse_;
  bool is_onesided_;
  LastLines lines_;
};

class Stft final : public NodeKernel {
 public:
  explicit Stft(const sdk::NodeView& node)
      : NodeKernel(node), is_onesided_(node.get_int("onesided", 1) != 0) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    // Version 17 also accepts a signal without the last axis.
    const int64_t parts = x.rank == 3 ? x[2] : 1;
    if (x.rank < 2 || x.rank > 3 || parts < 1 || parts > 2)
      fail("the signal has shape " + to_string(x) + ", needs [batch, length, 1 or 2]");
    if (is_onesided_ && parts == 2) fail("a onesided transform needs a real signal");
    const bool has_window = call.has_input(2);
    int64_t points = x[1];
    if (has_window) {
      require_rank(call, 2, 1);
      points = call.shape(2)[0];
      if (call.input(2).dtype != call.input(0).dtype)
        fail("the window must have the element type of the signal");
    }
    if (call.has_input(3)) {
      const int64_t length = read_int(call, 3);
      if (has_window && length != points) {
        fail("a window of " + std::to_string(points) + " numbers does not fit frames of " +
             std::to_string(length));
      }
      points = length;
    }
    const int64_t step = read_int(call, 1);
    if (points < 1 || points > x[1] || step < 1) {
      fail("frames of length " + std::to_string(points) + " at steps of " + std::to_string(step) +
           " cannot be cut from a signal of length " + std::to_string(x[1]));
    }
    const FourierShape line = {points, parts, false, is_onesided_};
    const int64_t shape[] = {x[0], (x[1] - points) / step + 1, line.spectrum(), 2};
    gantry_tensor& output = call.output(0, call.input(0).dtype, {shape, 4});
    if (count_of({shape, 4}) == 0) return;
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      dispatch_precision<T>(points, [&](auto real) {
        transform<typename decltype(real)::type>(call, {x[1], shape[1], step}, line,
                                                 x[0] * shape[1], static_cast<T*>(output.data));
      });
    });
  }

 private:
  struct Layout {
    int64_t length;
    int64_t frames;
    int64_t step;
  };

  template <class R, class T>
  void transform(sdk::Call& call, const Layout& e, const FourierShape& line, int64_t lines,
                 T* y) const {
    const T* x = call.data<T>(0);
    const T* window = call.has_input(2) ? call.data<T>(2) : nullptr;
    const auto fill = [&](int64_t i, R* buffer) -> const R* {
      const T* frame = x + (i / e.frames * e.length + i % e.frames * e.step) * line.parts;
      if constexpr (std::is_same_v<R, T>) {
        if (!window) return frame;
      }
      for (int64_t k = 0; k < line.points; ++k) {
        const R factor = window ? load<R>(window, k) : R{1};
        for (int64_t part = 0; part < line.parts; ++part)
          buffer[k * line.parts + part] = load<R>(frame, k * line.parts + part) * factor;
      }
      return buffer;
    };
    const auto take = [&](int64_t i, const R* results) {
      const int64_t size = line.output_size();
      for (int64_t k = 0; k < size; ++k) store(y, i * size + k, results[k]);
    };
    const auto plan = lines_.get<R>(line);
    R* direct = nullptr;
    if constexpr (std::is_same_v<R, T>) direct = y;
    Lines<R>(call, *plan, lines).run(fill, direct, take);
  }

  bool is_onesided_;
  LastLines lines_;
};

/// MelWeightMatrix: triangular filters of height 1, evenly spaced in mel, over the bins of a
/// onesided spectrum.
class MelWeightMatrix final : public NodeKernel {
 public:
  explicit MelWeightMatrix(const sdk::NodeView& node)
      : NodeKernel(node),
        dtype_(static_cast<uint32_t>(node.get_int("output_datatype", GANTRY_FLOAT))) {}

  void run(sdk::Call& call) const override {
    const int64_t bands = read_int(call, 0);
    const int64_t points = read_int(call, 1);
    const int64_t rate = read_int(call, 2);
    const double low = read_number(call, 3);
    const double high = read_number(call, 4);
    if (bands < 0 || points < 0 || points > kMostPoints || bands > kMostPoints || rate < 1 ||
        !(low >= 0 && high >= low && std::isfinite(high))) {
      fail("a matrix of " + std::to_string(bands) + " bands for a DFT of " +
           std::to_string(points) + " at " + std::to_string(rate) + " Hz from " +
           std::to_string(low) + " to " + std::to_string(high) + " Hz cannot be formed");
    }
    const int64_t bins = points / 2 + 1;
    gantry_tensor& output = call.output(0, dtype_, {bins, bands});
    const int64_t shape[] = {bins, bands};
    const int64_t count = count_of({shape, 2});
    dispatch<NumberTypes>(dtype_, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* y = static_cast<T*>(output.data);
      std::fill_n(y, count, static_cast<T>(Compute<T>(0)));
      const double low_mel = to_mel(low);
      const double step = (to_mel(high) - low_mel) / static_cast<double>(bands + 2);
      const auto bin_of = [&](int64_t i) {
        const double hertz = to_hertz(low_mel + static_cast<double>(i) * step);
        return static_cast<int64_t>(
            std::floor(static_cast<double>(points + 1) * hertz / static_cast<double>(rate)));
      };
      int64_t left = bin_of(0);
      int64_t center = bin_of(1);
      for (int64_t band = 0; band < bands; ++band) {
        const int64_t right = bin_of(band + 2);
        fill_band(y + band, bins, bands, left, center, right);
        left = center;
        center = right;
      }
    });
  }

 private:
  static double to_mel(double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); }
  static double to_hertz(double mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); }

  [[nodiscard]] double read_number(sdk::Call& call, int slot) const {
    if (call.shape(slot).element_count() != 1) {
      fail("input " + std::to_string(slot) + " has shape " + to_string(call.shape(slot)) +
           ", needs one element");
    }
    double value = 0;
    dispatch<FloatTypes>(call.input(slot).dtype, [&](auto type) {
      value = load<double>(call.data<typename decltype(type)::type>(slot), 0);
    });
    return value;
  }

  /// Writes one filter: it rises from `left` to `center` and falls to `right`. Bins beyond the
  /// spectrum are left out.
  template <class T>
  static void fill_band(T* column, int64_t bins, int64_t step, int64_t left, int64_t center,
                        int64_t right) {
    const auto set = [&](int64_t bin, double value) {
      if (bin < bins) {
        if constexpr (std::is_integral_v<T>) {
          column[bin * step] = to_integer<T>(value);
        } else {
          store(column, bin * step, value);
        }
      }
    };
    if (center == left) set(center, 1.0);
    for (int64_t i = left; i <= center && i < bins && center > left; ++i)
      set(i, static_cast<double>(i - left) / static_cast<double>(center - left));
    for (int64_t i = center; i < right && i < bins; ++i)
      set(i, static_cast<double>(right - i) / static_cast<double>(right - center));
  }

  uint32_t dtype_;
};

constexpr sdk::KernelRow kSignalRows[] = {
    {"DFT", 17, sdk::kLatest, sdk::kFloats, sdk::make<Dft>, {.signature_inputs = 6}},
    {"STFT", 17, sdk::kLatest, sdk::kFloats, sdk::make<Stft>, {.signature_inputs = 10}},
    {"MelWeightMatrix",
     17,
     sdk::kLatest,
     sdk::dtypes(GANTRY_INT32, GANTRY_INT64),
     sdk::make<MelWeightMatrix>,
     {.signature_inputs = 7}},
};

}  // namespace

sdk::KernelTable signal_kernels() { return sdk::table(kSignalRows); }

}  // namespace gantry::cpu
