// SPDX-License-Identifier: Apache-2.0
// Layouts of packed 3 x 3 weights for conv/winograd/convolution.h: panels of Code::columns filters,
// filters and channels padded with zeros.
#pragma once

#include <cstdint>

#include "conv/winograd/code.h"

namespace gantry::x86::winograd {

enum class Form : uint8_t {
  kTransformed,  ///< [panels, positions, padded channels, columns]
  kTaps          ///< [panels, padded channels, kTaps, columns]; each run transforms them
};

/// Number of panels. [any]
int64_t panels_of(int64_t filters);
/// Input channels, padded to whole vectors. [any]
int64_t whole_vectors(int64_t channels);
/// Floats of working set that a core's L2 cache holds while weights stream through it. [any]
int64_t cache_elements();

/// The form of packed weights: kTransformed if they then fit cache_elements(), else kTaps.
/// Transformed weights are 1.8 (k2) or 4 times (k4) as large; beyond the cache they take longer to
/// read than taps take to transform. [any]
Form form_of(int64_t filters, int64_t channels, Tile tile);
/// Bytes of the packed weights. [any]
int64_t weights_bytes(int64_t filters, int64_t channels, Tile tile, Form form);

}  // namespace gantry::x86::winograd
