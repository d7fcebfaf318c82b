// SPDX-License-Identifier: Apache-2.0
// Quantized matmul: MatMulInteger, QLinearMatMul. The operands, minus their zero points, are
// multiplied by f32 GEMM in slices of K that are short enough for every sum to be exact. The
// partial sums are added as integers.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "dispatch.h"
#include "families.h"
#include "linear_algebra/blas.h"
#include "linear_algebra/matrix_batches.h"
#include "node_kernel.h"
#include "quantization/quantization.h"

namespace gantry::cpu {
namespace {

using Int8Types = TypeList<uint8_t, int8_t>;
using OperandTypes =
    Concat<Int8Types, TypeList<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ>>;

class QuantizedMatMul : public NodeKernel {
 protected:
  explicit QuantizedMatMul(const sdk::NodeView& node) : NodeKernel(node) {}

  /// The elements of an operand minus its zero points: one for all, or one for each row (`by_row`)
  /// or column. Sets `bound` to the largest magnitude that the element type allows.
  float* operand(sdk::Call& call, int slot, int zero_slot, bool by_row, float& bound) const {
    const sdk::Shape shape = call.shape(slot);
    const uint32_t dtype = call.input(slot).dtype;
    auto* values = read_as<OperandTypes, float>(call, slot);
    bound = dtype == GANTRY_INT8 ? 128.0F : 255.0F;
    if (!call.has_input(zero_slot)) return values;
    if (call.input(zero_slot).dtype != dtype)
      fail("input " + std::to_string(zero_slot) + " must have the element type of its matrix");
    const auto* zeros = read_as<OperandTypes, float>(call, zero_slot);
    const Spread spread(*this, shape, call.shape(zero_slot), zero_slot, by_row);
    for (int64_t i = 0; i < call.shape(zero_slot).element_count(); ++i)
      bound = zeros[i] != 0 ? 255.0F : bound;
    spread.for_each(call, [&](int64_t i, int64_t at) { values[i] -= zeros[at]; });
    return values;
  }

  /// Maps matrix elements to the elements of a scale or zero point.
  class Spread {
   public:
    Spread(const QuantizedMatMul& kernel, sdk::Shape matrix, sdk::Shape own, int slot, bool by_row)
        : rows_(matrix.rank > 1 ? matrix.count(0, matrix.rank - 1) : 1),
          columns_(matrix.rank > 0 ? matrix[matrix.rank - 1] : 1) {
      const int64_t count = own.element_count();
      const int64_t lines = by_row ? (matrix.rank > 1 ? matrix[matrix.rank - 2] : 1) : columns_;
      per_batch_ = matrix.rank > 1 ? matrix[matrix.rank - 2] : 1;
      if (count == 1) return;
      const int64_t batches = rows_ / std::max<int64_t>(per_batch_, 1);
      // A rank-1 tensor applies to every matrix; a higher rank has rows or columns for each matrix.
      if (count != lines && count != lines * batches) {
        kernel.fail("input " + std::to_string(slot) + " of shape " + to_string(own) +
                    " is neither one number nor one for each " + (by_row ? "row" : "column") +
                    " of " + to_string(matrix));
      }
      row_step_ = by_row ? 1 : 0;
      column_step_ = by_row ? 0 : 1;
      batch_step_ = count == lines ? 0 : lines;
    }
    /// Calls visit(element, index of its scale) for all elements, in parallel.
    template <class Visit>
    void for_each(sdk::Call& call, Visit visit) const {
      const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(columns_, 1));
      call.parallel_for(rows_, grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const int64_t base = row / per_batch_ * batch_step_ + row % per_batch_ * row_step_;
          for (int64_t i = 0; i < columns_; ++i) visit(row * columns_ + i, base + i * column_step_);
        }
      });
    }

   private:
    int64_t rows_;
    int64_t columns_;
    int64_t per_batch_ = 1;
    int64_t batch_step_ = 0;
    int64_t row_step_ = 0;
    int64_t column_step_ = 0;
  };

  /// y = a b; C is int32 (exact) or float (8-bit floats).
  template <class C>
  static void batched_gemm(sdk::Call& call, const MatrixBatches& e, const float* a, const float* b,
                           float bound, C* y) {
    // Integers below 2^24 are exact in f32, in any order of summation.
    const int64_t longest = std::is_same_v<C, float> ? e.k : static_cast<int64_t>(0x1p24F / bound);
    auto* part = call.scratch<float>(e.m * e.n);
    e.for_each(0, e.count(), [&](int64_t i, int64_t ia, int64_t ib) {
      C* target = y + i * e.m * e.n;
      std::fill_n(target, e.m * e.n, C{0});
      for (int64_t at = 0; at < e.k; at += longest) {
        GemmArgs<float> args =
            dense_gemm<float>(e.m, e.n, std::min(longest, e.k - at), a + ia * e.m * e.k + at,
                              b + ib * e.k * e.n + at * e.n, part);
        args.lda = e.k;
        gemm(call, args);
        call.parallel_for(e.m * e.n, 32768, [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p) target[p] = add(target[p], part[p]);
        });
      }
    });
  }

  /// Adds with wrap-around.
  static int32_t add(int32_t sum, float part) {
    return static_cast<int32_t>(static_cast<uint32_t>(sum) +
                                static_cast<uint32_t>(static_cast<int32_t>(part)));
  }
  static float add(float sum, float part) { return sum + part; }
};

class MatMulInteger final : public QuantizedMatMul {
 public:
  explicit MatMulInteger(const sdk::NodeView& node) : QuantizedMatMul(node) {}

  void run(sdk::Call& call) const override {
    const MatrixBatches layout(call.shape(0), call.shape(1), label());
    check_gemm(layout.m, layout.n, layout.k, label());
    const sdk::Shape shape = layout.shape();
    auto* y = static_cast<int32_t*>(call.output(0, GANTRY_INT32, shape).data);
    if (count_of(shape) == 0) return;
    float a_bound = 0;
    float b_bound = 0;
    const float* a = operand(call, 0, 2, true, a_bound);
    const float* b = operand(call, 1, 3, false, b_bound);
    batched_gemm(call, layout, a, b, a_bound * b_bound, y);
  }
};

class QLinearMatMul final : public QuantizedMatMul {
 public:
  explicit QLinearMatMul(const sdk::NodeView& node) : QuantizedMatMul(node) {}

  void run(sdk::Call& call) const override {
    const MatrixBatches layout(call.shape(0), call.shape(3), label());
    check_gemm(layout.m, layout.n, layout.k, label());
    const sdk::Shape shape = layout.shape();
    const uint32_t dtype = call.input(7).dtype;
    gantry_tensor& output = call.output(0, dtype, shape);
    const int64_t count = count_of(shape);
    if (count == 0) return;
    float a_bound = 0;
    float b_bound = 0;
    const float* a = operand(call, 0, 2, true, a_bound);
    const float* b = operand(call, 3, 5, false, b_bound);
    const bool is_integer = is_byte(call.input(0).dtype) && is_byte(call.input(3).dtype);
    if (is_integer) {
      auto* sums = call.scratch<int32_t>(count);
      batched_gemm(call, layout, a, b, a_bound * b_bound, sums);
      requantize(call, shape, sums, output);
    } else {
      auto* sums = call.scratch<float>(count);
      batched_gemm(call, layout, a, b, 1.0F, sums);
      requantize(call, shape, sums, output);
    }
  }

 private:
  static bool is_byte(uint32_t dtype) { return dtype == GANTRY_UINT8 || dtype == GANTRY_INT8; }

  /// Requantizes. The scales of a apply to rows of the result, those of b to columns, those of y to
  /// either; each may be a scalar.
  template <class C>
  void requantize(sdk::Call& call, sdk::Shape shape, const C* sums,
                  const gantry_tensor& output) const {
    using Scales = TypeList<float, Float16, BFloat16>;
    const auto* a_scale = read_as<Scales, float>(call, 1);
    const auto* b_scale = read_as<Scales, float>(call, 4);
    const auto* y_scale = read_as<Scales, float>(call, 6);
    const auto* y_zero = read_as<OperandTypes, float>(call, 7);
    // One axis is missing where an operand is a vector.
    Dims matrix(shape);
    if (call.shape(0).rank == 1) {
      matrix = Dims(sdk::Shape(shape.data, shape.rank - (call.shape(3).rank > 1 ? 1 : 0)));
      matrix.push(1);
      if (call.shape(3).rank > 1) matrix.push(shape[shape.rank - 1]);
    }
    if (call.shape(3).rank == 1) matrix.push(1);
    const int64_t count = shape.element_count();
    auto* factors = call.scratch<float>(count);
    if (call.shape(7).element_count() != call.shape(6).element_count())
      fail("the scale and the zero point of the output must have one shape");
    const Spread rows(*this, matrix.shape(), call.shape(1), 1, true);
    const Spread columns(*this, matrix.shape(), call.shape(4), 4, false);
    const Spread outputs(*this, matrix.shape(), call.shape(6), 6, true);
    rows.for_each(call, [&](int64_t i, int64_t at) { factors[i] = a_scale[at]; });
    columns.for_each(call, [&](int64_t i, int64_t at) { factors[i] *= b_scale[at]; });
    dispatch<OperandTypes>(output.dtype, [&](auto type) {
      using U = typename decltype(type)::type;
      auto* y = static_cast<U*>(output.data);
      outputs.for_each(call, [&](int64_t i, int64_t at) {
        const float value = static_cast<float>(sums[i]) * (factors[i] / y_scale[at]);
        y[i] = quantize<U>(value, y_zero[at], true);
      });
    });
  }
};

constexpr sdk::DTypeSet kInt8Matrices = dtype_set(Int8Types{});
constexpr sdk::DTypeSet kOperands = dtype_set(OperandTypes{});

constexpr sdk::KernelRow kMatMulIntegerRows[] = {
    {"MatMulInteger", 10, sdk::kLatest, kInt8Matrices, sdk::make<MatMulInteger>},
    {"QLinearMatMul", 10, sdk::kLatest, kOperands, sdk::make<QLinearMatMul>},
};

}  // namespace

sdk::KernelTable matmul_integer_kernels() { return sdk::table(kMatMulIntegerRows); }

}  // namespace gantry::cpu
