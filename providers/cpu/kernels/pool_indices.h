// SPDX-License-Identifier: Apache-2.0
// MaxPool with indices over planes of f32. Pure, any thread.
#pragma once

#include <cstdint>

#include "kernels/window.h"

namespace gantry::cpu {

/// Windows over a plane of two axes of at most 2^31 elements.
struct PictureWindows {
  WindowAxis rows;
  WindowAxis columns;
  bool is_column_major;  ///< indices count down the columns
};

/// Scratch memory of find_line: as many elements of each as a row has.
struct LineMaxima {
  float* values;
  int32_t* argmax;
};

/// y[o] and indices[o], one for each window of line `line`: the largest element, or the first NaN,
/// and its index in the plane, the first of equals. A window without elements gets -infinity and 0.
void find_line(const PictureWindows& windows, const float* plane, int64_t line,
               const LineMaxima& scratch, float* y, int64_t* indices);

}  // namespace gantry::cpu
