// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm of f32 rows with a constant matrix by this provider's own code (packed/layer.h).
#include "fuse/kernels.h"
#include "matmul/implementations.h"
#include "matmul/operands.h"
#include "matmul/packed/layer.h"

namespace gantry::x86 {
namespace {

class PackedMatMulKernel final : public sdk::Kernel {
 public:
  PackedMatMulKernel(const KernelArgs& args, MatMulOperands&& operands)
      : operands_(std::move(operands)) {
    layer_.pack(args.index.host(), args.choices,
                {operands_.matrix, operands_.inner, operands_.columns, operands_.is_transposed,
                 operands_.scale},
                operands_.bias, operands_.fusion.epilogue);
  }

  void run(sdk::Call& call) const override {
    const MatMulOperands::Tensors tensors = operands_.of(call);
    if (tensors.rows == 0) return;
    layer_.run(call, tensors.rows, static_cast<const float*>(tensors.source),
               static_cast<const float*>(tensors.addend), static_cast<float*>(tensors.target));
  }

 private:
  MatMulOperands operands_;
  PackedMatMul layer_;
};

}  // namespace

Made make_packed_matmul(const KernelArgs& args) {
  if (args.fusion.rounds_to_bf16) return refuse("it is bf16");
  MatMulOperands operands(args);
  if (!PackedMatMul::takes(operands.columns))
    return refuse("panels would be mostly empty, or the CPU has no code for it");
  if (!matmul_epilogue_of(operands.fusion.epilogue))
    return refuse("no code for a step of the epilogue");
  return made<PackedMatMulKernel>(args, std::move(operands));
}

}  // namespace gantry::x86
