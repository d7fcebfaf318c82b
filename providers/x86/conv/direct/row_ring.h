// SPDX-License-Identifier: Apache-2.0
// A ring buffer of image rows, computed on demand as a window moves down.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gantry::x86 {

/// Holds as many rows as a window spans. One thread at a time.
class RowRing {
 public:
  /// `memory`: [held, row_elements], borrowed.
  RowRing(float* memory, int64_t held, int64_t row_elements)
      : memory_(memory), held_(held), row_elements_(row_elements) {}

  /// Row `y` of image `n`; make(row, target) computes each row that is not held yet. Requires `y`
  /// above the largest row asked for of that image less `held`.
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
