// SPDX-License-Identifier: Apache-2.0
#include "matmul/operands.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>

#include "fuse/constants.h"

namespace gantry::x86 {

int64_t known_rows_of(const sdk::ValueView& left) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < left.rank(); ++i) rows *= std::max<int64_t>(left.extent(i), 0);
  return rows;
}

MatMulOperands::MatMulOperands(const KernelArgs& args)
    : fusion(args.fusion),
      label(args.index.node(fusion.root).label()),
      source_slot_(static_cast<int>(args.slot_of(fusion.sources[0].value))),
      output_slot_(args.output_slot()) {
  if (fusion.addend.value != GANTRY_NONE)
    addend_slot_ = static_cast<int>(args.slot_of(fusion.addend.value));
  const GraphIndex& index = args.index;
  const sdk::NodeView node = index.node(fusion.root);
  const bool is_gemm = node.op_type() == "Gemm";
  is_transposed = is_gemm && node.get_int("transB", 0) != 0;
  const sdk::ValueView weights = index.value(fusion.weights);
  matrix = weights.constant()->data;
  inner = weights.extent(is_transposed ? 1 : 0);
  columns = weights.extent(is_transposed ? 0 : 1);
  known_rows = known_rows_of(index.value(fusion.sources[0].value));

  const float alpha = is_gemm ? node.get_float("alpha", 1) : 1;
  const float beta = is_gemm ? node.get_float("beta", 1) : 1;
  scale.assign(static_cast<size_t>(columns), alpha);
  bias = *bias_of(index, fusion, columns);
  for (float& x : bias) x *= beta;
  const Epilogue& epilogue = fusion.epilogue;
  for (size_t i = 0; i < epilogue.scale.size(); ++i) {
    scale[i] *= epilogue.scale[i];
    bias[i] = bias[i] * epilogue.scale[i] + epilogue.shift[i];
  }
  if (fusion.weight_quantization) {  // alpha is folded into the scales
    for (float& x : fusion.weight_quantization->scales) x *= alpha;
    scale.clear();
  }
  if (std::all_of(scale.begin(), scale.end(), [](float x) { return x == 1; })) scale.clear();
  rescaling = Rescaling(fusion, 2);
  bias = rescaling.bias_of(std::move(bias));
}

MatMulOperands::Tensors MatMulOperands::of(sdk::Call& call) const {
  const sdk::Shape input = call.shape(source_slot_);
  if (input.rank < 2 || input[input.rank - 1] != inner) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     label + ": the last extent of input 0 was expected to be " +
                         std::to_string(inner) + ", that of the rows of input 1, and is " +
                         (input.rank > 0 ? std::to_string(input[input.rank - 1]) : "absent"));
  }
  std::array<int64_t, 8> extents{};
  std::copy(input.data, input.data + input.rank, extents.begin());
  extents[static_cast<size_t>(input.rank) - 1] = columns;
  const sdk::Shape output(extents.data(), input.rank);
  Tensors tensors;
  tensors.target =
      call.output(static_cast<int>(output_slot_), dtype_of(fusion.target.type()), output).data;
  tensors.rows = input.count(0, input.rank - 1);
  if (tensors.rows == 0) return tensors;
  tensors.source = call.input(source_slot_).data;
  if (addend_slot_ < 0) return tensors;
  if (call.shape(addend_slot_) != output) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     label + ": the tensor added to the result has another shape than the result");
  }
  tensors.addend = call.input(addend_slot_).data;
  return tensors;
}

}  // namespace gantry::x86
