// SPDX-License-Identifier: Apache-2.0
// A constant matrix of floats in the panels of matmul/packed/code.h, in 16 bits if they hold all of
// it exactly. Equal matrices are held once in the process, whichever sessions use them.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "matmul/packed/code.h"

namespace gantry::x86 {

class PanelWeights {
 public:
  /// As the model has it.
  struct Plain {
    const void* numbers = nullptr;  ///< f32 at any byte: [inner, columns], or `is_transposed`
    int64_t inner = 0;
    int64_t columns = 0;
    bool is_transposed = false;  ///< [columns, inner]
    std::vector<float> scales;   ///< of the columns; empty: 1
    /// Of the filters of a convolution, which are transposed: a row is [inner / taps, taps] in the
    /// model and [taps, inner / taps] in the panels.
    int64_t taps = 1;
  };
  /// Packs it on all cores; `plain` need not outlive the call. The digest is kept in `choices`, so
  /// that where another start packed the matrix nothing of it is read. Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, const Plain& plain);

  /// Of the panels.
  [[nodiscard]] StorageDtype numbers() const { return numbers_; }
  /// The panel whose first column is `column`, from index `inner` on. [any]
  [[nodiscard]] const std::byte* panel(int64_t column, int64_t inner) const {
    const int64_t place = column * inner_ + inner * panel_width(columns_, column);
    return static_cast<const std::byte*>(share_.get()) + place * bytes_of(numbers_);
  }

 private:
  int64_t inner_ = 0;
  int64_t columns_ = 0;
  StorageDtype numbers_ = StorageDtype::kFloat;
  std::shared_ptr<const void> share_;
};

}  // namespace gantry::x86
