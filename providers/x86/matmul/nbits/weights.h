// SPDX-License-Identifier: Apache-2.0
// Packs a constant matrix quantized to 4 or 8 bits in blocks for matmul/nbits/code.h. An element
// takes as many bits as in the model. Equal packed matrices share memory within the process.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "matmul/nbits/code.h"

namespace gantry::x86 {

/// The matrix as the model has it (MatMulNBits, com.microsoft 1).
struct PlainBlocks {
  BlockShape shape;
  const uint8_t* numbers = nullptr;  ///< [columns, blocks, block * bits / 8], low nibble first
  std::vector<float> scales;         ///< [columns, blocks]
  std::vector<float> zeros;          ///< [columns, blocks]; empty: all are half of the range
  /// Relative error that a scale may have, so that it can be stored in 16 bits.
  float scale_tolerance = 0;
};

class BlockWeights {
 public:
  /// Packs on all cores; does not keep `plain`. Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, const PlainBlocks& plain);

  [[nodiscard]] const BlockShape& shape() const { return shape_; }
  [[nodiscard]] int64_t group_count() const;
  /// The columns from index * kGroup on. [any]
  [[nodiscard]] ColumnGroup group(int64_t index) const;
  [[nodiscard]] bool has_zeros() const { return zeros_ != Zeros::kNone; }

 private:
  enum class Zeros : uint8_t { kNone, kBytes, kFloats };

  struct Offsets {
    int64_t scales = 0;
    int64_t steps = 0;
    int64_t zeros = 0;
    int64_t size = 0;  // all in bytes
  };
  [[nodiscard]] Offsets offsets() const;
  void fill(const PlainBlocks& plain, uint8_t* target) const;
  void fill_scales(const PlainBlocks& plain, int64_t index, uint8_t* target) const;
  void fill_group(const PlainBlocks& plain, int64_t index, uint8_t* target) const;

  BlockShape shape_;
  bool has_multiples_ = false;  // scales are multiples of a step per column
  Zeros zeros_ = Zeros::kNone;
  std::shared_ptr<const void> share_;
};

}  // namespace gantry::x86
