// SPDX-License-Identifier: Apache-2.0
// Operands of MatMulInteger, which all its implementations share: the constant matrix, the scales
// that dequantize the result, and the tensors of a run.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fuse/kernels.h"
#include "onednn/library.h"

namespace gantry::x86 {

/// Immutable. Borrows only `matrix`, which is valid while the claim is compiled.
struct IntegerOperands {
  explicit IntegerOperands(const KernelArgs& args);

  /// Tensors of a run, dense. Errors: INVALID_ARGUMENT for a source whose last extent is not
  /// `inner`.
  struct Tensors {
    int64_t rows = 0;              ///< 0: the result is empty
    const void* source = nullptr;  ///< [rows, inner]
    void* target = nullptr;        ///< [rows, columns], f32 or int32
  };
  [[nodiscard]] Tensors of(sdk::Call& call) const;
  /// The scales of a run, [scale_count]. Errors: INVALID_ARGUMENT for another number.
  [[nodiscard]] const float* scales_of(const sdk::Call& call) const;
  /// The source's zero point in a run.
  [[nodiscard]] int32_t zero_point_of(const sdk::Call& call) const;

  [[nodiscard]] bool is_float() const { return scale_count > 0; }
  [[nodiscard]] bool has_zero_point() const { return zero_slot >= 0 || zero_point != 0; }

  Fusion fusion;
  std::string label;             ///< of the root, for messages
  const void* matrix = nullptr;  ///< [inner, columns]
  int64_t inner = 0;
  int64_t columns = 0;
  int64_t known_rows = 0;    ///< of the source; less than 1: dynamic
  Type source_type;          ///< u8 or s8
  std::vector<float> bias;   ///< [columns]; empty: 0
  int64_t scale_count = 0;   ///< 1 or `columns`; 0: the result stays i32
  int scale_slot = -1;       ///< input slot; -1: `scale` is used
  int zero_slot = -1;        ///< input slot; -1: `zero_point` is used
  std::vector<float> scale;  ///< [scale_count], if constant
  int32_t zero_point = 0;    ///< of the source, if constant

 private:
  [[nodiscard]] int32_t number_at(const void* data) const;

  int source_slot_;
  int output_slot_;
};

}  // namespace gantry::x86
