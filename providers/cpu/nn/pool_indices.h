// SPDX-License-Identifier: Apache-2.0
// MaxPool with output Indices over 2-D planes of f32. Pure, any thread.
#pragma once

#include <cstdint>

#include "nn/window.h"

namespace gantry::cpu {

/// Windows over a plane [rows, columns] of at most 2^31 elements.
struct Windows2d {
  WindowAxis rows;
  WindowAxis columns;
  bool is_column_major;  ///< attribute storage_order is 1: indices are in column-major order
};

/// Scratch memory of find_line(): columns.input elements of each.
struct LineMaxima {
  float* values;
  int32_t* argmax;
};

/// For each window o of output row `line`: y[o] = its largest element, or NaN if it has one;
/// indices[o] = the index of that element in the plane, the first if there are equals. A window
/// without elements gets -infinity and 0.
void find_line(const Windows2d& windows, const float* plane, int64_t line,
               const LineMaxima& scratch, float* y, int64_t* indices);

}  // namespace gantry::cpu
