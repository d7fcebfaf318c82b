// SPDX-License-Identifier: Apache-2.0
// Weights of int8 for the instruction that adds two products of bytes in 16 bits, where they
// saturate (pmaddubsw). Products with weights a and b are between 255 times the sum of the negative
// ones and of the positive ones of them, and fit if these are at most 128; of a pair beyond that
// the second weight stands apart, among extra ones that are multiplied once more, so that sums are
// exact. Trained weights have few such pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "int8/widened_convolution.h"

namespace gantry::x86 {

/// How many extra quads each half of each panel has.
using ExtraCounts = std::vector<int32_t>;

/// Of a half of a panel of `quads` quads of weights, [quads, kWidenedPanel, 4], how many have a
/// pair that could saturate. [any]
int32_t count_extras(const int8_t* panel, int64_t half, int64_t quads);

/// Where everything is in the memory of packed panels.
class BytePanelsLayout {
 public:
  BytePanelsLayout(int64_t quads, const ExtraCounts& extras);

  [[nodiscard]] int64_t size_bytes() const;
  /// Views of the memory.
  [[nodiscard]] BytePanels of(const void* memory) const;
  /// Packs a panel whose weights stand at their place already: moves what could saturate to the
  /// extra ones, and sums it up. Panels may be packed at once. Errors: INVALID_ARGUMENT for other
  /// weights than were counted.
  void pack(void* memory, int64_t panel) const;
  [[nodiscard]] int8_t* panel(void* memory, int64_t index) const {
    return static_cast<int8_t*>(memory) + index * quads_ * kWidenedPanel * 4;
  }

 private:
  int64_t quads_;
  int64_t panels_;
  std::vector<int32_t> ends_;  ///< of each half panel's extra ones
  int64_t extra_count_;
  // In bytes from the memory's start:
  int64_t sums_;
  int64_t ends_place_;
  int64_t extra_quads_;
  int64_t extra_weights_;
};

}  // namespace gantry::x86
