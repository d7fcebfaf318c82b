// SPDX-License-Identifier: Apache-2.0
// Source pixels under the window of a target pixel, and the division of the target into tasks. Pure
// functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "int8/widened_convolution.h"

namespace gantry::x86 {

struct WidenedTensors {
  const uint8_t* source;
  const uint8_t* addend;  ///< null: none
  uint8_t* target;
  int64_t positions;  ///< pixels of the target, of all images
};

/// A target pixel and its window on the source. Borrows both arguments of the constructor.
class WidenedPosition {
 public:
  WidenedPosition(const WidenedConvolution& convolution, const uint8_t* source, int64_t position)
      : c_(convolution) {
    for (size_t axis = 3; axis-- > 0;) {
      index_[axis] = position % c_.target[axis];
      start_[axis] = index_[axis] * c_.strides[axis] - c_.pads[axis];
      starts_inside_[axis] = c_.source[axis] - (c_.window[axis] - 1) * c_.dilations[axis];
      position /= c_.target[axis];
    }
    image_ = source + position * image_size();
  }

  /// Moves to the next pixel.
  void next() {
    for (size_t axis = 3; axis-- > 0;) {
      start_[axis] += c_.strides[axis];
      if (++index_[axis] < c_.target[axis]) return;
      index_[axis] = 0;
      start_[axis] = -c_.pads[axis];
    }
    image_ += image_size();
  }

  /// True if no tap is in the padding.
  [[nodiscard]] bool is_inside() const {
    bool is_inside = true;
    for (size_t axis = 0; axis < 3; ++axis)
      is_inside &= start_[axis] >= 0 && start_[axis] < starts_inside_[axis];
    return is_inside;
  }
  /// The channels under the first tap. Requires is_inside(); other taps are offset_of() further.
  [[nodiscard]] const uint8_t* first_tap() const {
    return image_ + offset_of(c_, start_[0], start_[1], start_[2]);
  }
  static int64_t offset_of(const WidenedConvolution& c, int64_t z, int64_t y, int64_t x) {
    return ((z * c.source[1] + y) * c.source[2] + x) * c.groups * c.channels;
  }

  /// The channels under a tap; null: padding.
  [[nodiscard]] const uint8_t* tap(int64_t i, int64_t j, int64_t k) const {
    const int64_t z = start_[0] + i * c_.dilations[0];
    const int64_t y = start_[1] + j * c_.dilations[1];
    const int64_t x = start_[2] + k * c_.dilations[2];
    const bool is_inside =
        z >= 0 && z < c_.source[0] && y >= 0 && y < c_.source[1] && x >= 0 && x < c_.source[2];
    if (!is_inside) return nullptr;
    return image_ + offset_of(c_, z, y, x);
  }

 private:
  [[nodiscard]] int64_t image_size() const { return offset_of(c_, c_.source[0], 0, 0); }

  const WidenedConvolution& c_;
  WidenedConvolution::Axes index_{};          // of the target pixel in its image
  WidenedConvolution::Axes start_{};          // source index of the first tap
  WidenedConvolution::Axes starts_inside_{};  // a window that starts below these ends inside
  const uint8_t* image_;
};

/// Most panels of a task. Its rows are gathered once for all of them, so that gathering costs
/// little.
constexpr int64_t kWidenedPanelsOfTask = 8;

/// Target pixels of a task: whole tiles for each instruction set, whose rows fit the L2 cache.
inline int64_t widened_positions_of(const WidenedConvolution& convolution) {
  constexpr int64_t kElements = 1 << 16;
  constexpr int64_t kStep = 12;
  constexpr int64_t kMost = 48;
  const int64_t positions = kElements / (convolution.pairs() * 2) / kStep * kStep;
  return std::clamp(positions, kStep, kMost);
}

struct WidenedTasks {
  int64_t positions;  ///< target pixels of a task
  int64_t stretches;  ///< parts of a group's panels
  int64_t parts;      ///< parts of all channels
  int64_t count;      ///< number of tasks

  WidenedTasks(const WidenedConvolution& c, int64_t all_positions)
      : positions(widened_positions_of(c)),
        stretches(
            c.is_depthwise() ? 1 : (c.panels() + kWidenedPanelsOfTask - 1) / kWidenedPanelsOfTask),
        parts(c.is_depthwise() ? 1 : c.groups * stretches),
        count((all_positions + positions - 1) / positions * parts) {}
};

}  // namespace gantry::x86
