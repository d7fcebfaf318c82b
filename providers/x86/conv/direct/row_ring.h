// SPDX-License-Identifier: Apache-2.0
// Rows of an image that are made when a window first reaches them, and kept until it has passed.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gantry::x86 {

/// As many rows as a window spans, in memory that is not its own. One thread at a time.
class RowRing {
 public:
  /// `memory`: [held, row_elements].
  RowRing(float* memory, int64_t held, int64_t row_elements)
      : memory_(memory), held_(held), row_elements_(row_elements) {}

  /// Row `y` of image `n`. Rows of an image are asked for in ascending order, and as far back as
  /// the window spans; those that are missing are made by make(row, target).
  template <class Make>
  const float* row(int64_t n, int64_t y, Make&& make) {
    if (n != image_) next_ = y;
    image_ = n;
    next_ = std::max(next_, y - held_ + 1);
    for (; next_ <= y; ++next_) make(next_, memory_ + next_ % held_ * row_elements_);
    return memory_ + y % held_ * row_elements_;
  }

 private:
  float* memory_;
  int64_t held_;
  int64_t row_elements_;
  int64_t image_ = -1;
  int64_t next_ = 0;  ///< row that is to be made next
};

}  // namespace gantry::x86
