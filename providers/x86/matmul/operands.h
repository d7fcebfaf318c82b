// SPDX-License-Identifier: Apache-2.0
// Operands of MatMul and Gemm with a constant matrix, which all their implementations share: the
// matrix, what is folded into it, and the tensors of a run.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fuse/kernels.h"
#include "onednn/scales.h"

namespace gantry::x86 {

/// The product of all extents of a left operand but its last; less than 1: dynamic, or without
/// elements.
int64_t known_rows_of(const sdk::ValueView& left);

/// Immutable. Borrows only `matrix`, which is valid while the claim is compiled.
struct MatMulOperands {
  explicit MatMulOperands(const KernelArgs& args);

  /// Tensors of a run, dense. Errors: INVALID_ARGUMENT for a source whose last extent is not
  /// `inner`, or an addend of another shape than the target.
  struct Tensors {
    int64_t rows = 0;              ///< 0: the result is empty
    const void* source = nullptr;  ///< [rows, inner]
    const void* addend = nullptr;  ///< [rows, columns]; null: none
    void* target = nullptr;        ///< [rows, columns]; may be the addend
  };
  [[nodiscard]] Tensors of(sdk::Call& call) const;

  Fusion fusion;      ///< for int8, Gemm's alpha is multiplied into its scales
  std::string label;  ///< of the root, for messages
  const void* matrix = nullptr;
  int64_t inner = 0;
  int64_t columns = 0;
  bool is_transposed = false;  ///< `matrix` is [columns, inner], else [inner, columns]
  int64_t known_rows = 0;      ///< of the source; less than 1: dynamic
  /// [columns]: alpha times the epilogue's scale, to be folded into the matrix; empty: all are 1,
  /// or the matrix is int8
  std::vector<float> scale;
  std::vector<float> bias;  ///< [columns], with beta and the epilogue's shift applied
  Rescaling rescaling;

 private:
  int source_slot_;
  int addend_slot_ = -1;
  size_t output_slot_;
};

}  // namespace gantry::x86
