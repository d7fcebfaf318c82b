// SPDX-License-Identifier: Apache-2.0
#include "operators/linear_algebra/batched_matmul.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "operators/linear_algebra/matmul_plan.h"

namespace gantry::cuda {
namespace {

// cuBLASLt takes one batch stride, and addresses aligned to kBlasAlignment.
bool may_be_of_blas(const BatchedMatmul& matmul, const Walk& walk,
                    std::initializer_list<Buffer> buffers) {
  return (sdk::dtype_bit(matmul.dtype) & sdk::kFloats) && walk.rank() == 1 && matmul.k > 0 &&
         std::max({matmul.m, matmul.n, matmul.k, walk.count()}) <=
             std::numeric_limits<int32_t>::max() &&
         std::all_of(buffers.begin(), buffers.end(), [](const Buffer& buffer) {
           return buffer.offset_bytes % kBlasAlignment == 0;
         });
}

}  // namespace

void plan_batched_matmul(Planner& planner, const BatchedMatmul& matmul, const Buffer& a,
                         const Buffer& b, const Buffer& y) {
  Walk walk{matmul.batch, {matmul.a_strides, matmul.b_strides}};
  if (matmul.m * matmul.n * walk.count() == 0) return;
  walk.simplify();
  MatmulParameters p = {};
  p.m = matmul.m;
  p.n = matmul.n;
  p.k = matmul.k;
  const int64_t a_dense = matmul.a_is_transposed ? matmul.m : matmul.k;
  const int64_t b_dense = matmul.b_is_transposed ? matmul.k : matmul.n;
  p.a_row = matmul.a_row != 0 ? matmul.a_row : a_dense;
  p.b_row = matmul.b_row != 0 ? matmul.b_row : b_dense;
  p.a_column = p.b_column = 1;
  if (matmul.a_is_transposed) std::swap(p.a_row, p.a_column);
  if (matmul.b_is_transposed) std::swap(p.b_row, p.b_column);
  p.alpha = 1;
  walk.write_extents(p.batch_extents);
  walk.write_strides(0, p.a_batch);
  walk.write_strides(1, p.b_batch);
  const uint32_t dtype = matmul.dtype;
  MatmulCall call = {p, walk, dtype, y, a, b, {}, {}, {}, {}, {}};
  if (may_be_of_blas(matmul, walk, {a, b, y})) {
    MatmulShape shape;
    shape.dtype = dtype;
    shape.m = matmul.m;
    shape.n = matmul.n;
    shape.k = matmul.k;
    shape.a_is_transposed = matmul.a_is_transposed;
    shape.b_is_transposed = matmul.b_is_transposed;
    shape.a_row = matmul.a_row == a_dense ? 0 : matmul.a_row;
    shape.b_row = matmul.b_row == b_dense ? 0 : matmul.b_row;
    shape.batch = walk.count();
    shape.a_batch_stride = walk.strides[0][0];
    shape.b_batch_stride = walk.strides[1][0];
    shape.rounds_to_tf32 = planner.rounds_to_tf32();
    call.blas = shape;
  }
  plan_matmul(planner, call);
}

}  // namespace gantry::cuda
