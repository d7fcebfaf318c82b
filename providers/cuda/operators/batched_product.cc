// SPDX-License-Identifier: Apache-2.0
#include "batched_product.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "product_call.h"

namespace gantry::cuda {
namespace {

// cuBLASLt takes one stride for the batch, and addresses that are multiples of kBlasAlignment.
bool may_be_of_blas(const BatchedProduct& product, const Walk& walk,
                    std::initializer_list<Buffer> buffers) {
  return (sdk::dtype_bit(product.dtype) & sdk::kFloats) && walk.rank() == 1 && product.k > 0 &&
         std::max({product.m, product.n, product.k, walk.count()}) <=
             std::numeric_limits<int32_t>::max() &&
         std::all_of(buffers.begin(), buffers.end(), [](const Buffer& buffer) {
           return buffer.offset_bytes % kBlasAlignment == 0;
         });
}

}  // namespace

void plan_batched_product(Planner& planner, const BatchedProduct& product, const Buffer& a,
                          const Buffer& b, const Buffer& y) {
  Walk walk{product.batch, {product.a_strides, product.b_strides}};
  if (product.m * product.n * walk.count() == 0) return;
  walk.simplify();
  ProductParameters p = {};
  p.m = product.m;
  p.n = product.n;
  p.k = product.k;
  const int64_t a_dense = product.a_is_transposed ? product.m : product.k;
  const int64_t b_dense = product.b_is_transposed ? product.k : product.n;
  p.a_row = product.a_row != 0 ? product.a_row : a_dense;
  p.b_row = product.b_row != 0 ? product.b_row : b_dense;
  p.a_column = p.b_column = 1;
  if (product.a_is_transposed) std::swap(p.a_row, p.a_column);
  if (product.b_is_transposed) std::swap(p.b_row, p.b_column);
  p.alpha = 1;
  walk.write_extents(p.batch_extents);
  walk.write_strides(0, p.a_batch);
  walk.write_strides(1, p.b_batch);
  const uint32_t dtype = product.dtype;
  ProductCall call = {p, walk, dtype, y, a, b, {}, {}, {}, {}, {}};
  if (may_be_of_blas(product, walk, {a, b, y})) {
    ProductShape shape;
    shape.dtype = dtype;
    shape.m = product.m;
    shape.n = product.n;
    shape.k = product.k;
    shape.a_is_transposed = product.a_is_transposed;
    shape.b_is_transposed = product.b_is_transposed;
    shape.a_row = product.a_row == a_dense ? 0 : product.a_row;
    shape.b_row = product.b_row == b_dense ? 0 : product.b_row;
    shape.batch = walk.count();
    shape.a_batch_stride = walk.strides[0][0];
    shape.b_batch_stride = walk.strides[1][0];
    shape.rounds_to_tf32 = planner.rounds_to_tf32();
    call.blas = shape;
  }
  plan_product(planner, call);
}

}  // namespace gantry::cuda
