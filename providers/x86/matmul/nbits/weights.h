// SPDX-License-Identifier: Apache-2.0
// A constant matrix of 4 or 8 bits in blocks along its inner extent, in the order in which the
// products of matmul/nbits/code.h read it. Equal matrices are held once in the process, whichever
// sessions use them; a number takes as many bits as in the model.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "matmul/nbits/code.h"

namespace gantry::x86 {

/// Such a matrix as the model has it: MatMulNBits of com.microsoft.
struct PlainBlocks {
  BlockShape shape;
  const uint8_t* numbers = nullptr;  ///< [columns, blocks, block * bits / 8], low half first
  std::vector<float> scales;         ///< [columns, blocks]
  std::vector<float> zeros;          ///< [columns, blocks]; empty: all are half of the range
  /// By how much of itself a scale may be off, so that it takes 16 bits.
  float scale_tolerance = 0;
};

class BlockWeights {
 public:
  /// Brings `plain`, which need not outlive the call, into order on all cores. Errors:
  /// OUT_OF_MEMORY.
  void pack(const gantry_host* host, const PlainBlocks& plain);

  [[nodiscard]] int64_t group_count() const;
  /// Columns [index * kGroup, ...), as many as there are. [any]
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
  bool has_multiples_ = false;  // scales are kept as multiples of a step of their column
  Zeros zeros_ = Zeros::kNone;
  std::shared_ptr<const void> share_;
};

}  // namespace gantry::x86
