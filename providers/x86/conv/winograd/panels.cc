// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/panels.h"

#include <unistd.h>

#include "simd/blocking.h"

namespace gantry::x86::winograd {
namespace {

/// Stored elements for each filter and channel.
int64_t numbers_of(Tile tile, Form form) {
  return form == Form::kTaps ? kTaps : positions_of(tile);
}

int64_t elements_of(int64_t filters, int64_t channels, Tile tile, Form form) {
  return panels_of(filters) * code().columns * whole_vectors(channels) * numbers_of(tile, form);
}

}  // namespace

int64_t panels_of(int64_t filters) { return divided_up(filters, code().columns); }

int64_t whole_vectors(int64_t channels) {
  return divided_up(channels, code().lanes) * code().lanes;
}

int64_t cache_elements() {
  static const int64_t elements = [] {
    constexpr int64_t kUnknown = 1 << 20;
    const int64_t size_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return (size_bytes > 0 ? size_bytes : kUnknown) * 3 / 8 / int64_t{sizeof(float)};
  }();
  return elements;
}

Form form_of(int64_t filters, int64_t channels, Tile tile) {
  const bool stays = elements_of(filters, channels, tile, Form::kTransformed) <= cache_elements();
  return stays ? Form::kTransformed : Form::kTaps;
}

int64_t weights_bytes(int64_t filters, int64_t channels, Tile tile, Form form) {
  return elements_of(filters, channels, tile, form) * int64_t{sizeof(float)};
}

}  // namespace gantry::x86::winograd
