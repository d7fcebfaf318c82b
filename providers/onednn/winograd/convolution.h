// SPDX-License-Identifier: Apache-2.0
// A convolution of 3 x 3, without strides, dilations and groups, by winograd/code.h, on tensors
// whose channels are innermost. Tiles are taken in groups whose transformed input, products and
// results stay in the cache of a core; where there are too few tiles for that to be worth the
// reading of all weights for each group, the cores share one group and divide the channels of the
// output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "winograd/code.h"

namespace gantry::onednn::winograd {

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
  /// [panels, positions, channels in whole vectors, columns of Code]; see weights.h
  const float* weights = nullptr;
  const float* bias = nullptr;    ///< [panels, columns]
  const float* addend = nullptr;  ///< as the target; null: no step adds; may be the target
  float* target = nullptr;
};

class Convolution {
 public:
  /// For runs on `threads` threads, in an arena of as many.
  Convolution(const Geometry& geometry, Tile tile, int threads, std::vector<Step> steps);

  /// Temporary memory of one run.
  [[nodiscard]] int64_t scratch_bytes() const;
  /// Runs it to its end. `scratch`: scratch_bytes(), aligned to 64. Requires the arena. [any, with
  /// scratch memory of its own]
  void run(const Operands& operands, std::byte* scratch) const;

 private:
  struct Group;
  void transform(const Operands& operands, const Group& group, int64_t first, int64_t last) const;
  void multiply(const Operands& operands, const Group& group, int64_t first_panel,
                int64_t last_panel, float* products) const;
  void finish(const Operands& operands, const Group& group, int64_t panel,
              const float* products) const;
  void run_apart(const Operands& operands, std::byte* scratch) const;
  void run_together(const Operands& operands, std::byte* scratch) const;
  void divide();

  // Of that many tiles, in elements:
  [[nodiscard]] int64_t position_of(int64_t tiles) const;  // transformed input at one position
  [[nodiscard]] int64_t input_of(int64_t tiles) const;     // transformed input
  [[nodiscard]] int64_t products_of(int64_t tiles) const;  // products with one panel

  const Code& code_;
  Geometry geometry_;
  Tile tile_;
  int threads_;
  std::vector<Step> steps_;
  std::vector<float> zeros_;  // a place outside of the input
  int64_t tile_rows_;         // in one image
  int64_t tile_columns_;
  int64_t tiles_;  // of all images
  int64_t panels_;
  int64_t channels_;  // in whole vectors
  int64_t groups_ = 1;
  int64_t panels_at_once_ = 1;  // whose products are kept at a time
  bool is_shared_ = false;      // all cores work on one group
  bool reads_ahead_ = false;    // the weights do not stay near
};

/// Panels of the weights for that many channels of the output. [any]
int64_t panels_of(int64_t filters);
/// That many channels of the input, filled up to whole vectors. [any]
int64_t whole_vectors(int64_t channels);

}  // namespace gantry::onednn::winograd
