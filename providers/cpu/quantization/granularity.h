// SPDX-License-Identifier: Apache-2.0
// Maps the elements of a quantized tensor to their scales: per tensor, per axis or blocked. Plain
// values, any thread.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "dims.h"

namespace gantry::cpu {

/// Splits a tensor into runs of consecutive elements. A run has one scale (step() 0) or one scale
/// for each element (step() 1).
class Granularity {
 public:
  struct Run {
    int64_t begin;  ///< first element
    int64_t count;
    int64_t scale;  ///< index of the first element's scale
  };
  /// Several neighbouring runs as one: element i of the span has scale whole.scale + i / share.
  struct Span {
    Run whole;
    int64_t share;  ///< at least whole.count: all elements have one scale
  };

  /// `x` and `scale` are shapes. One scale for the tensor, one for each index of `axis`, or with
  /// `block` > 0 one for each `block` consecutive indices of `axis`. Throws INVALID_ARGUMENT if the
  /// shape of `scale` is none of these.
  Granularity(sdk::Shape x, sdk::Shape scale, int64_t axis, int64_t block,
              const std::string& label) {
    if (scale.element_count() == 1 && (block == 0 || x.rank != scale.rank)) {
      run_ = kPlainRun;
      extent_ = x.element_count();
      per_outer_ = (extent_ + run_ - 1) / run_;
      runs_ = per_outer_;
      scale_per_outer_ = scale_per_run_ = 0;
      return;
    }
    const int64_t at = axis < 0 ? axis + x.rank : axis;
    const bool fits_rank = scale.rank == (block > 0 ? x.rank : 1);
    if (at < 0 || at >= x.rank || !fits_rank || block < 0) fail(x, scale, axis, block, label);
    split(x, scale, static_cast<int>(at), block, label);
  }

  [[nodiscard]] int64_t runs() const { return runs_; }
  /// Distance between the scales of consecutive elements of a run: 0 or 1.
  [[nodiscard]] int64_t step() const { return step_; }
  /// Least number of runs for a thread.
  [[nodiscard]] int64_t grain() const { return std::max<int64_t>(1, 16384 / run_); }
  /// Calls visit(run) for the runs [begin, end). Runs may be short, so there is no division per
  /// run.
  template <class Visit>
  void for_each(int64_t begin, int64_t end, Visit visit) const {
    int64_t outer = begin / per_outer_;
    int64_t inner = begin % per_outer_;
    int64_t group = inner / repeat_;
    int64_t in_group = inner % repeat_;
    for (int64_t i = begin; i < end; ++i) {
      visit(Run{outer * extent_ + inner * run_, std::min(run_, extent_ - inner * run_),
                outer * scale_per_outer_ + group * scale_per_run_});
      if (++in_group == repeat_) {
        in_group = 0;
        ++group;
      }
      if (++inner == per_outer_) {
        inner = group = in_group = 0;
        ++outer;
      }
    }
  }
  /// Calls visit(span) for the runs [begin, end), merged into as few spans as possible.
  template <class Visit>
  void for_each_span(int64_t begin, int64_t end, Visit visit) const {
    if (step_ != 0 || repeat_ != 1 || scale_per_run_ != 1) {
      return for_each(begin, end, [&](const Run& run) {
        visit(Span{run, step_ != 0 ? 1 : std::max<int64_t>(run.count, 1)});
      });
    }
    while (begin < end) {
      const int64_t outer = begin / per_outer_;
      const int64_t inner = begin % per_outer_;
      const int64_t runs = std::min(end - begin, per_outer_ - inner);
      visit(Span{{outer * extent_ + inner * run_, std::min(runs * run_, extent_ - inner * run_),
                  outer * scale_per_outer_ + inner},
                 run_});
      begin += runs;
    }
  }

 private:
  static constexpr int64_t kPlainRun = 4096;

  void split(sdk::Shape x, sdk::Shape scale, int axis, int64_t block, const std::string& label) {
    const int64_t inner = x.count(axis + 1, x.rank);
    const int64_t blocks = block > 0 ? (x[axis] + block - 1) / block : x[axis];
    bool fits = block > 0 || scale.rank != 1 || scale[0] == x[axis];
    for (int i = 0; block > 0 && i < x.rank; ++i) fits &= scale[i] == (i == axis ? blocks : x[i]);
    if (!fits) fail(x, scale, axis, block, label);
    extent_ = std::max<int64_t>(x[axis] * inner, 1);
    // Along the last axis a run is a block, or the whole axis with a scale for each element.
    if (inner == 1) {
      run_ = block > 0 ? block : std::max<int64_t>(x[axis], 1);
      step_ = block > 0 ? 0 : 1;
      scale_per_run_ = block > 0 ? 1 : 0;
    } else {
      run_ = std::max<int64_t>(inner, 1);
      step_ = block > 0 ? 1 : 0;
      repeat_ = block > 0 ? block : 1;
      scale_per_run_ = block > 0 ? inner : 1;
    }
    per_outer_ = (extent_ + run_ - 1) / run_;
    scale_per_outer_ = block > 0 ? blocks * inner : 0;
    runs_ = x.element_count() == 0 ? 0 : x.count(0, axis) * per_outer_;
  }

  [[noreturn]] static void fail(sdk::Shape x, sdk::Shape scale, int64_t axis, int64_t block,
                                const std::string& label) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, label + ": a scale of shape " + to_string(scale) +
                                                  " does not fit data of shape " + to_string(x) +
                                                  " along axis " + std::to_string(axis) +
                                                  " with blocks of " + std::to_string(block) +
                                                  " (0: none)");
  }

  int64_t runs_ = 0;
  int64_t run_ = 1;        ///< elements of a run; the last of `extent_` may be shorter
  int64_t per_outer_ = 1;  ///< runs of `extent_` elements
  int64_t extent_ = 1;
  int64_t repeat_ = 1;  ///< runs that share their scales
  int64_t scale_per_outer_ = 0;
  int64_t scale_per_run_ = 0;
  int64_t step_ = 0;
};

}  // namespace gantry::cpu
