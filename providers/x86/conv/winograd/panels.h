// SPDX-License-Identifier: Apache-2.0
// Weights of a 3 x 3 convolution as conv/winograd/convolution.h reads them: in panels of as many
// filters as a product has columns, filters and channels filled up with zeros.
#pragma once

#include <cstdint>

#include "conv/winograd/code.h"

namespace gantry::x86::winograd {

enum class Form : uint8_t {
  kTransformed,  ///< [panels, positions, channels in whole vectors, columns]
  kTaps          ///< [panels, channels in whole vectors, kTaps, columns]: runs transform them
};

/// Panels of that many filters. [any]
int64_t panels_of(int64_t filters);
/// That many channels of the input, filled up to whole vectors. [any]
int64_t whole_vectors(int64_t channels);
/// Floats that may be in use at a time: part of the second cache of a core, which the weights pass
/// through as well. [any]
int64_t cache_elements();

/// How weights of that many channels are kept: transformed if that leaves them in the cache. Larger
/// ones take longer to be read than to be transformed, and 1.8 or 4 times the memory. [any]
Form form_of(int64_t filters, int64_t channels, Tile tile);
/// Bytes of the weights of that many channels. [any]
int64_t weights_bytes(int64_t filters, int64_t channels, Tile tile, Form form);

}  // namespace gantry::x86::winograd
