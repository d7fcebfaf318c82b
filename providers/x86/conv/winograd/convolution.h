// SPDX-License-Identifier: Apache-2.0
// A 3 x 3 convolution without strides, dilations and groups by Winograd's minimal filtering
// (conv/winograd/code.h), channels-last. Tiles are processed in groups whose transformed input,
// products and results stay in a core's cache. If there are too few tiles to make reading all
// weights for each group worthwhile, the cores share one group and divide the output channels.
// Weights stored as taps (conv/winograd/panels.h) are transformed in the cache, some channels of a
// panel at a time, once per group; such groups are always shared and large. Tiles with NaN,
// infinity or very large values are computed by direct convolution (direct_tile.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "conv/winograd/code.h"
#include "conv/winograd/panels.h"

namespace gantry::x86::winograd {

/// Tiles that are transformed and multiplied at a time if all threads share them.
constexpr int64_t kMostTiles = 112;

/// Extents of one convolution.
struct Geometry {
  int64_t batch = 1;
  int64_t height = 1;  ///< of the input
  int64_t width = 1;
  int64_t channels = 1;    ///< of the input
  int64_t filters = 1;     ///< channels of the output
  int64_t out_height = 1;  ///< determines the padding at the bottom
  int64_t out_width = 1;   ///< determines the padding on the right
  int64_t pad_top = 0;
  int64_t pad_left = 0;
};

/// Tensors of a run.
struct Operands {
  const float* source = nullptr;   ///< [batch, height, width, channels]
  const float* weights = nullptr;  ///< in the convolution's Form
  const float* bias = nullptr;     ///< [panels, columns]
  const float* addend = nullptr;   ///< as the target, which it may be; null: no step adds
  float* target = nullptr;         ///< [batch, out_height, out_width, filters]
};

class Convolution {
 public:
  /// For runs on up to `threads` threads, in an arena of as many.
  Convolution(const Geometry& geometry, Tile tile, Form form, int threads, std::vector<Step> steps);

  /// Bytes of scratch memory of one run.
  [[nodiscard]] int64_t scratch_bytes() const;
  /// Computes the target; returns when it is done. `scratch`: scratch_bytes(), aligned to 64.
  /// Requires the arena. [any, each call with its own scratch memory]
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
  void find_pixels(const Operands& operands, int64_t number, const float** pixels) const;
  void run_staged(const Operands& operands, std::byte* scratch) const;
  void run_fused(const Operands& operands, std::byte* scratch) const;
  void divide();

  // Sizes for a number of tiles, in elements:
  [[nodiscard]] int64_t position_of(int64_t tiles) const;  // transformed input at one position
  [[nodiscard]] int64_t input_of(int64_t tiles) const;     // transformed input
  [[nodiscard]] int64_t products_of(int64_t tiles) const;  // products with one panel
  [[nodiscard]] int64_t share_of(int64_t tiles) const;     // memory of one core
  [[nodiscard]] static int64_t marks_of(int64_t tiles);    // Group::is_ordinary
  // Transformed weights of that many channels of a panel at one position, in elements.
  [[nodiscard]] int64_t weights_of(int64_t channels) const;

  const Code& code_;
  Geometry geometry_;
  Tile tile_;
  Form form_;
  int threads_;
  std::vector<Step> steps_;
  std::vector<float> zeros_;  // a pixel of the padding
  int64_t tile_rows_;         // in one image
  int64_t tile_columns_;
  int64_t tiles_;  // of all images
  int64_t panels_;
  int64_t channels_;  // in whole vectors
  int64_t groups_ = 1;
  bool is_shared_ = false;        // all cores work on one group
  int64_t channels_at_once_ = 0;  // channels of a panel of taps that are transformed at a time
};

}  // namespace gantry::x86::winograd
