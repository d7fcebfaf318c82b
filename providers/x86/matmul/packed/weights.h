// SPDX-License-Identifier: Apache-2.0
// Packs a constant f32 matrix in the panels of matmul/packed/code.h, in 16 bits if they hold all of
// it exactly. Equal packed matrices share memory within the process.
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
  /// The matrix as the model has it.
  struct Plain {
    const void* data = nullptr;  ///< f32 of any alignment: [inner, columns]
    int64_t inner = 0;
    int64_t columns = 0;
    bool is_transposed = false;  ///< `data` is [columns, inner]
    std::vector<float> scales;   ///< [columns], multiplied into the matrix; empty: 1
    /// Taps of a convolution's filters, which are transposed: a row is [inner / taps, taps] in the
    /// model and [taps, inner / taps] in the panels.
    int64_t taps = 1;
  };
  /// Packs on all cores; does not keep `plain`. Digest and storage dtype are cached in `choices`:
  /// if the packed matrix is in the compiled-model cache too, `plain.data` is not read. Errors:
  /// OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, const Plain& plain);

  /// Storage dtype of the panels.
  [[nodiscard]] StorageDtype dtype() const { return dtype_; }
  /// The panel whose first column is `column`, from inner index `inner` on. [any]
  [[nodiscard]] const std::byte* panel(int64_t column, int64_t inner) const {
    const int64_t offset = column * inner_ + inner * panel_width(columns_, column);
    return static_cast<const std::byte*>(share_.get()) + offset * bytes_of(dtype_);
  }

 private:
  int64_t inner_ = 0;
  int64_t columns_ = 0;
  StorageDtype dtype_ = StorageDtype::kFloat;
  std::shared_ptr<const void> share_;
};

}  // namespace gantry::x86
