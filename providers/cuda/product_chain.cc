// SPDX-License-Identifier: Apache-2.0
#include "product_chain.h"

#include <gantry/sdk/rows.h>

#include "product_group.h"

namespace gantry::cuda {
namespace {

// The node that alone reads the first output of `node`, once; GANTRY_NONE: there is none.
uint32_t only_reader(const sdk::GraphIndex& index, uint32_t node,
                     const std::vector<bool>& may_take) {
  if (index.raw(node).output_count != 1) return GANTRY_NONE;
  const uint32_t reader = index.only_reader(index.raw(node).outputs[0]);
  return reader != GANTRY_NONE && may_take[reader] ? reader : GANTRY_NONE;
}

// Whether the node adds one number for each column to the result of `product`.
bool adds_bias(const sdk::GraphIndex& index, uint32_t node, uint32_t product) {
  if (index.node(node).op_type() != "Add" || index.raw(node).input_count != 2) return false;
  const uint32_t result = index.raw(product).outputs[0];
  const uint32_t* inputs = index.raw(node).inputs;
  const sdk::ValueView bias = index.value(inputs[0] == result ? inputs[1] : inputs[0]);
  const sdk::ValueView matrix = index.value(result);
  return bias.rank() == 1 && matrix.rank() >= 2 && bias.extent(0) >= 0 &&
         bias.extent(0) == matrix.extent(matrix.rank() - 1) && bias.dtype() == matrix.dtype();
}

bool is_same_extent(const gantry_value_info& a, const gantry_value_info& b, int64_t axis) {
  if (a.shape[axis] >= 0 || b.shape[axis] >= 0) return a.shape[axis] == b.shape[axis];
  return a.symbols && b.symbols && a.symbols[axis].length > 0 &&
         sdk::to_view(a.symbols[axis]) == sdk::to_view(b.symbols[axis]);
}

// Whether the node adds a tensor that in every run has the shape of `result`, which it reads.
bool adds_alike(const sdk::GraphIndex& index, uint32_t node, uint32_t result) {
  if (index.node(node).op_type() != "Add" || index.raw(node).input_count != 2) return false;
  const uint32_t* inputs = index.raw(node).inputs;
  const uint32_t other = inputs[0] == result ? inputs[1] : inputs[0];
  const gantry_value_info& made = *index.graph().values[result];
  const gantry_value_info& added = *index.graph().values[other];
  if (other == result || made.rank < 2 || made.rank != added.rank || made.dtype != added.dtype)
    return false;
  for (int64_t axis = 0; axis < made.rank; ++axis) {
    if (!is_same_extent(made, added, axis)) return false;
  }
  return true;
}

ProductActivation activation_of(const sdk::NodeView& node) {
  if (node.op_type() == "Relu") return ProductActivation::kRelu;
  // Of 16-bit floats alone: the library's is exact enough for them, and so is tensor cores' work.
  const uint32_t dtype = node.input(0).dtype();
  if (dtype != GANTRY_FLOAT16 && dtype != GANTRY_BFLOAT16) return ProductActivation::kNone;
  if (node.op_type() == "FastGelu" && !node.input(1).present()) return ProductActivation::kGeluTanh;
  if (node.op_type() != "Gelu") return ProductActivation::kNone;
  return node.domain().empty() && node.get_string("approximate", "none") == "tanh"
             ? ProductActivation::kGeluTanh
             : ProductActivation::kGelu;
}

}  // namespace

ProductEpilogue epilogue_of(const sdk::GraphIndex& index, const std::vector<uint32_t>& nodes) {
  ProductEpilogue epilogue;
  for (size_t i = 1; i < nodes.size(); ++i) {
    const sdk::NodeView node = index.node(nodes[i]);
    if (node.op_type() == "Add") {
      const bool is_bias = i == 1 && index.node(nodes[0]).op_type() == "MatMul" &&
                           adds_bias(index, nodes[1], nodes[0]);
      (is_bias ? epilogue.has_bias : epilogue.has_addend) = true;
    } else {
      epilogue.activation = activation_of(node);
    }
  }
  return epilogue;
}

ProductChain product_chain(const sdk::GraphIndex& index, uint32_t node,
                           const std::vector<bool>& may_take) {
  const sdk::NodeView anchor = index.node(node);
  const bool is_matmul = anchor.op_type() == "MatMul" && anchor.domain().empty();
  const bool is_gemm =
      anchor.op_type() == "Gemm" && anchor.domain().empty() && anchor.since_version() >= 7;
  if (may_be_block_group(anchor)) {
    const uint32_t reader = only_reader(index, node, may_take);
    if (reader == GANTRY_NONE || !adds_alike(index, reader, index.raw(node).outputs[0])) return {};
    return {{node, reader}};
  }
  const bool is_float = (sdk::dtype_bit(anchor.input(0).dtype()) & sdk::kFloats) != 0;
  if ((!is_matmul && !is_gemm) || !is_float) return {};
  // Of a vector the result has an axis less, and a bias is along another one.
  if (anchor.input(0).rank() < 2 || anchor.input(1).rank() < 2) return {};
  ProductChain chain{{node}};
  uint32_t next = only_reader(index, node, may_take);
  if (is_matmul && next != GANTRY_NONE && adds_bias(index, next, node)) {
    chain.nodes.push_back(next);
    next = only_reader(index, next, may_take);
  }
  if (is_matmul && next != GANTRY_NONE &&
      adds_alike(index, next, index.raw(chain.nodes.back()).outputs[0])) {
    chain.nodes.push_back(next);
    next = only_reader(index, next, may_take);
  }
  if (next != GANTRY_NONE && activation_of(index.node(next)) != ProductActivation::kNone)
    chain.nodes.push_back(next);
  return chain;
}

}  // namespace gantry::cuda
