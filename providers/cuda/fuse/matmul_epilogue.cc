// SPDX-License-Identifier: Apache-2.0
#include "fuse/matmul_epilogue.h"

#include <gantry/sdk/rows.h>

#include "fuse/nbits_matmul.h"

namespace gantry::cuda {
namespace {

// The 1-D value that an Add adds to each row of `result`; GANTRY_NONE: the node is no such Add.
uint32_t bias_of(const sdk::GraphIndex& index, uint32_t node, uint32_t result) {
  if (!sdk::is_operator(index, node, "Add", 2)) return GANTRY_NONE;
  const uint32_t other = sdk::other_operand(index, node, result);
  const sdk::ValueView bias = index.value(other);
  const sdk::ValueView matrix = index.value(result);
  return bias.rank() == 1 && matrix.rank() >= 2 && bias.extent(0) >= 0 &&
                 bias.extent(0) == matrix.extent(matrix.rank() - 1) &&
                 bias.dtype() == matrix.dtype()
             ? other
             : GANTRY_NONE;
}

// Whether the node adds a tensor that in every run has the shape of `result`.
bool adds_alike(const sdk::GraphIndex& index, uint32_t node, uint32_t result) {
  if (!sdk::is_operator(index, node, "Add", 2)) return false;
  const uint32_t other = sdk::other_operand(index, node, result);
  return sdk::has_equal_extents(index, result, other) && index.value(result).rank() >= 2 &&
         index.value(result).dtype() == index.value(other).dtype();
}

MatmulActivation activation_of(const sdk::NodeView& node) {
  if (node.op_type() == "Relu" && node.domain().empty()) return MatmulActivation::kRelu;
  // cuBLASLt's approximations, and tensor cores, are exact enough for 16-bit floats only.
  const uint32_t dtype = node.input(0).dtype();
  if (dtype != GANTRY_FLOAT16 && dtype != GANTRY_BFLOAT16) return MatmulActivation::kNone;
  if (node.op_type() == "FastGelu" && !node.input(1).present()) return MatmulActivation::kGeluTanh;
  if (node.op_type() != "Gelu") return MatmulActivation::kNone;
  return node.domain().empty() && node.get_string("approximate", "none") == "tanh"
             ? MatmulActivation::kGeluTanh
             : MatmulActivation::kGelu;
}

std::unique_ptr<MatmulFusion> fusion_of(uint32_t root) {
  auto fusion = std::make_unique<MatmulFusion>();
  fusion->root = root;
  fusion->nodes = {root};
  return fusion;
}

}  // namespace

std::unique_ptr<MatmulFusion> match_nbits_matmul(const sdk::FusionScope& scope, uint32_t root) {
  if (!is_constant_nbits_matmul(scope.index().node(root))) return nullptr;
  const uint32_t add = next_of(scope, root);
  if (add == GANTRY_NONE || !adds_alike(scope.index(), add, sdk::result_of(scope.index(), root)))
    return nullptr;
  auto fusion = fusion_of(root);
  fusion->nodes.push_back(add);
  fusion->epilogue.has_addend = true;
  return fusion;
}

std::unique_ptr<MatmulFusion> match_matmul(const sdk::FusionScope& scope, uint32_t root) {
  const sdk::GraphIndex& index = scope.index();
  const sdk::NodeView node = index.node(root);
  const bool is_matmul = sdk::is_operator(index, root, "MatMul");
  const bool is_gemm = sdk::is_operator(index, root, "Gemm") && node.since_version() >= 7;
  const bool is_float = (sdk::dtype_bit(node.input(0).dtype()) & sdk::kFloats) != 0;
  // A 1-D operand removes an axis from the result, so its last axis would not be that of the
  // columns.
  if ((!is_matmul && !is_gemm) || !is_float || node.input(0).rank() < 2 || node.input(1).rank() < 2)
    return nullptr;
  auto fusion = fusion_of(root);
  uint32_t result = sdk::result_of(index, root);
  uint32_t next = next_of(scope, root);
  const auto fuse_next = [&] {
    fusion->nodes.push_back(next);
    result = sdk::result_of(index, next);
    next = next_of(scope, next);
  };
  if (is_matmul && next != GANTRY_NONE) {
    fusion->bias = bias_of(index, next, result);
    fusion->epilogue.has_bias = fusion->bias != GANTRY_NONE;
    if (fusion->epilogue.has_bias) fuse_next();
  }
  if (is_matmul && next != GANTRY_NONE && adds_alike(index, next, result)) {
    fusion->epilogue.has_addend = true;
    fuse_next();
  }
  if (next != GANTRY_NONE) {
    fusion->epilogue.activation = activation_of(index.node(next));
    if (fusion->epilogue.activation != MatmulActivation::kNone) fusion->nodes.push_back(next);
  }
  return fusion;
}

}  // namespace gantry::cuda
