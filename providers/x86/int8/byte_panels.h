// SPDX-License-Identifier: Apache-2.0
// int8 weights packed for VPMADDUBSW, which adds two u8 * s8 products in 16 bits and saturates. A
// pair of weights a and b cannot saturate if |a + b| <= 128. Of any other pair the second weight is
// moved to an extra quad, which is multiplied separately, so that sums are exact. Trained weights
// have few such pairs. A quad is four consecutive weights of each channel of a panel. For VPDPBUSD,
// which adds four products in 32 bits, the panels stay whole.
#pragma once

#include <cstdint>
#include <vector>

#include "int8/widened_convolution.h"

namespace gantry::x86 {

/// Number of extra quads of each half panel: [panels, 2].
using ExtraCounts = std::vector<int32_t>;

/// Number of quads in half `half` (0 or 1) of a panel, [quads, kWidenedPanel, 4], with a pair that
/// could saturate. [any]
int32_t count_extras(const int8_t* panel, int64_t half, int64_t quads);

/// The layout of the memory of packed panels. Immutable.
class BytePanelsLayout {
 public:
  BytePanelsLayout(int64_t quads, const ExtraCounts& extras);
  /// Of whole panels. Requires has_quad_sums() (int8/vnni.h) where they are multiplied.
  BytePanelsLayout(int64_t quads, int64_t panels);

  [[nodiscard]] int64_t size_bytes() const;
  /// Pointers into packed memory.
  [[nodiscard]] BytePanels of(const void* memory) const;
  /// Packs a panel whose weights are in panel() already: moves weights that could saturate to extra
  /// quads, and writes the sums of the weights. Panels may be packed concurrently.
  /// Errors: INVALID_ARGUMENT if the panel needs more extra quads than were counted.
  void pack(void* memory, int64_t panel) const;
  [[nodiscard]] int8_t* panel(void* memory, int64_t index) const {
    return static_cast<int8_t*>(memory) + index * quads_ * kWidenedPanel * 4;
  }

 private:
  int64_t quads_;
  int64_t panels_;
  bool are_whole_ = false;
  std::vector<int32_t> ends_;  ///< of each half panel's extra quads
  int64_t extra_count_;
  // Offsets in bytes:
  int64_t sums_;
  int64_t ends_position_;
  int64_t extra_quads_;
  int64_t extra_weights_;
};

}  // namespace gantry::x86
