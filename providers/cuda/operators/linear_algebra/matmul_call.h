// SPDX-License-Identifier: Apache-2.0
// A matmul whose operand layouts are known, as its kernels are made from it. Borrowed while it is
// planned (matmul_plan.h).
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/linear_algebra/matmul.h"
#include "operators/operators.h"

namespace gantry::cuda {

/// Offsets in elements of the operands and the result, for one of several cuBLASLt calls.
struct MatmulOffsets {
  int64_t a = 0, b = 0, y = 0;  ///< y: also of the addend
};

/// A matmul to plan. Borrows the parameters and the walk.
struct MatmulCall {
  MatmulParameters& parameters;  ///< complete but for addresses
  const Walk& walk;
  uint32_t dtype;  ///< of all tensors
  Buffer y, a, b;
  /// Pointer members of the parameters for c and the addend, with their buffers.
  std::vector<std::pair<const void* const*, Buffer>> more;
  MatmulActivation activation = MatmulActivation::kNone;
  /// The matmul for cuBLASLt, with bias and c; without an activation that the library lacks. None:
  /// it cannot take the matmul.
  std::optional<MatmulShape> blas;
  std::optional<Buffer> bias, added;
  /// Offsets of the cuBLASLt calls that make up the matmul; a single 0 if one call does it all.
  std::vector<MatmulOffsets> repeats{1};
};

/// Source of a matmul kernel: types and options of `call`, `defines`, and the texts of `files`.
std::string matmul_source(const MatmulCall& call, const std::string& defines,
                          std::initializer_list<const char*> files);
/// All pointer members of the call's parameters with their buffers.
std::vector<std::pair<const void* const*, Buffer>> matmul_addresses(const MatmulCall& call);

}  // namespace gantry::cuda
