// SPDX-License-Identifier: Apache-2.0
#include "conv_chain.h"

#include <gantry/sdk/rows.h>

#include <cmath>
#include <optional>

#include "types.h"

namespace gantry::cuda {
namespace {

constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);

// The node that alone reads the only output of `node`; GANTRY_NONE: there is none.
uint32_t only_reader(const sdk::GraphIndex& index, uint32_t node,
                     const std::vector<bool>& may_take) {
  if (index.raw(node).output_count != 1) return GANTRY_NONE;
  const uint32_t reader = index.only_reader(index.raw(node).outputs[0]);
  return reader != GANTRY_NONE && may_take[reader] ? reader : GANTRY_NONE;
}

// Whether the node adds a tensor of the result's own shape, as far as it is known before a run.
bool adds_alike(const sdk::GraphIndex& index, uint32_t node, uint32_t result) {
  if (index.node(node).op_type() != "Add" || index.raw(node).input_count != 2) return false;
  const uint32_t* inputs = index.raw(node).inputs;
  const sdk::ValueView made = index.value(result);
  const sdk::ValueView added = index.value(inputs[0] == result ? inputs[1] : inputs[0]);
  if (made.rank() != added.rank() || made.dtype() != added.dtype() || added.is_constant())
    return false;
  for (int axis = 0; axis < made.rank(); ++axis) {
    if (made.extent(axis) != added.extent(axis)) return false;
  }
  return true;
}

// The number of a constant of one float; nothing: it is none.
std::optional<float> number_of(const sdk::ValueView& value) {
  const gantry_tensor* tensor = value.constant();
  if (!tensor || sdk::Shape(*tensor).element_count() != 1) return std::nullopt;
  if (tensor->dtype != GANTRY_FLOAT && tensor->dtype != GANTRY_FLOAT16) return std::nullopt;
  return static_cast<float>(number_at(tensor->dtype, tensor->data));
}

// Whether the node is a Relu, or a Clip from 0 to a bound that is known.
bool rectifies(const sdk::GraphIndex& index, uint32_t node, ConvEpilogue& epilogue) {
  const sdk::NodeView view = index.node(node);
  if (view.op_type() == "Relu") {
    epilogue.has_relu = true;
    return true;
  }
  if (view.op_type() != "Clip") return false;
  const bool has_inputs = view.since_version() >= 11;
  if (has_inputs && (!view.input(1).present() || !view.input(2).present())) return false;
  const std::optional<float> least =
      has_inputs ? number_of(view.input(1)) : view.get_float("min", -1);
  const std::optional<float> most =
      has_inputs ? number_of(view.input(2)) : view.get_float("max", 0);
  if (!least || !most || *least != 0 || !(*most > 0) || !std::isfinite(*most)) return false;
  epilogue.has_relu = true;
  epilogue.most = *most;
  return true;
}

}  // namespace

bool prefers_channels_last(const sdk::NodeView& anchor, bool rounds_to_tf32) {
  const uint32_t dtype = anchor.input(0).dtype();
  return (dtype == GANTRY_FLOAT16 || dtype == GANTRY_BFLOAT16 ||
          (dtype == GANTRY_FLOAT && rounds_to_tf32)) &&
         anchor.input(0).rank() == 4;
}

ConvChain conv_chain(const sdk::GraphIndex& index, uint32_t node,
                     const std::vector<bool>& may_take) {
  const sdk::NodeView anchor = index.node(node);
  const bool is_conv = anchor.op_type() == "Conv" || anchor.op_type() == "ConvTranspose";
  if (!is_conv || !anchor.domain().empty() || !(sdk::dtype_bit(anchor.input(0).dtype()) & kTypes))
    return {};
  ConvChain chain;
  chain.nodes.push_back(node);
  uint32_t next = only_reader(index, node, may_take);
  if (next != GANTRY_NONE && adds_alike(index, next, index.raw(node).outputs[0])) {
    chain.nodes.push_back(next);
    chain.epilogue.addend_slot = static_cast<int>(index.raw(node).input_count);
    next = only_reader(index, next, may_take);
  }
  if (next != GANTRY_NONE && rectifies(index, next, chain.epilogue)) chain.nodes.push_back(next);
  return chain;
}

}  // namespace gantry::cuda
