// SPDX-License-Identifier: Apache-2.0
// A convolution of 3 x 3, without strides, dilations and groups, by conv/winograd/code.h, on
// tensors whose channels are innermost. Tiles are taken in groups whose transformed input, products
// and results stay in the cache of a core; where there are too few tiles for that to be worth the
// reading of all weights for each group, the cores share one group and divide the channels of the
// output. Weights that are kept as taps (conv/winograd/panels.h) are transformed in the cache, some
// channels of a panel at a time, once for each group, which then is shared and large. Tiles with
// NaN, infinity or very large numbers are summed as the definition has it (direct_tile.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "conv/winograd/code.h"
#include "conv/winograd/panels.h"

namespace gantry::x86::winograd {

/// Extents of one convolution.
struct Geometry {
  int64_t batch = 1;
  int64_t height = 1;  ///< of the input
  int64_t width = 1;
  int64_t channels = 1;    ///< of the input
  int64_t filters = 1;     ///< channels of the output
  int64_t out_height = 1;  ///< with as much padding behind as it takes
  int64_t out_width = 1;
  int64_t pad_top = 0;
  int64_t pad_left = 0;
};

/// Where its tensors are: [batch, height, width, channels].
struct Operands {
  const float* source = nullptr;
  const float* weights = nullptr;  ///< in the convolution's Form
  const float* bias = nullptr;     ///< [panels, columns]
  const float* addend = nullptr;   ///< as the target; null: no step adds; may be the target
  float* target = nullptr;
};

class Convolution {
 public:
  /// For runs on `threads` threads, in an arena of as many.
  Convolution(const Geometry& geometry, Tile tile, Form form, int threads, std::vector<Step> steps);

  /// Temporary memory of one run.
  [[nodiscard]] int64_t scratch_bytes() const;
  /// Runs it to its end. `scratch`: scratch_bytes(), aligned to 64. Requires the arena. [any, with
  /// scratch memory of its own]
  void run(const Operands& operands, std::byte* scratch) const;

 private:
  struct Group;
  void transform(const Operands& operands, const Group& group, int64_t first, int64_t last) const;
  struct Factor;
  void multiply(const Group& group, const Factor& factor, int position, float* products) const;
  void multiply_panel(const Operands& operands, const Group& group, int64_t panel,
                      float* memory) const;
  void multiply_taps(const Operands& operands, const Group& group, int64_t panel,
                     float* products) const;
  void finish(const Operands& operands, const Group& group, int64_t panel,
              const float* products) const;
  void find_places(const Operands& operands, int64_t number, const float** places) const;
  void run_apart(const Operands& operands, std::byte* scratch) const;
  void run_together(const Operands& operands, std::byte* scratch) const;
  void divide();

  // Of that many tiles, in elements:
  [[nodiscard]] int64_t position_of(int64_t tiles) const;  // transformed input at one position
  [[nodiscard]] int64_t input_of(int64_t tiles) const;     // transformed input
  [[nodiscard]] int64_t products_of(int64_t tiles) const;  // products with one panel
  [[nodiscard]] int64_t share_of(int64_t tiles) const;     // what one core has for itself
  [[nodiscard]] static int64_t marks_of(int64_t tiles);    // a byte for each
  // Of that many channels of a panel that a run transforms, in elements: at one position.
  [[nodiscard]] int64_t weights_of(int64_t channels) const;

  const Code& code_;
  Geometry geometry_;
  Tile tile_;
  Form form_;
  int threads_;
  std::vector<Step> steps_;
  std::vector<float> zeros_;  // a place outside of the input
  int64_t tile_rows_;         // in one image
  int64_t tile_columns_;
  int64_t tiles_;  // of all images
  int64_t panels_;
  int64_t channels_;  // in whole vectors
  int64_t groups_ = 1;
  bool is_shared_ = false;        // all cores work on one group
  int64_t channels_at_once_ = 0;  // of a panel of taps that are transformed at a time
};

}  // namespace gantry::x86::winograd
