// SPDX-License-Identifier: Apache-2.0
// MatMul, Gemm and QLinearMatMul of int8 rows with a constant matrix, with exact sums on CPUs
// without VNNI, and by AVX-VNNI.
#include "fuse/kernels.h"
#include "int8/widened_layer.h"
#include "matmul/implementations.h"
#include "matmul/operands.h"

namespace gantry::x86 {
namespace {

class Int8WidenedMatMulKernel final : public sdk::Kernel {
 public:
  Int8WidenedMatMulKernel(const KernelArgs& args, MatMulOperands&& operands)
      : operands_(std::move(operands)) {
    const Fusion& fusion = operands_.fusion;
    layer_.pack(args.index.host(), args.choices,
                WidenedLayer::Plain::matrix(operands_.matrix, operands_.inner, operands_.columns,
                                            operands_.is_transposed, weight_offset(fusion)),
                fusion, int8_type_of(fusion.target.type()), operands_.rescaling.scales(),
                operands_.bias);
  }

  void run(sdk::Call& call) const override {
    const MatMulOperands::Tensors tensors = operands_.of(call);
    if (tensors.rows == 0) return;
    const Quantization& source = *operands_.fusion.sources[0].quantization;
    layer_.run(call, tensors.rows,
               {tensors.source, tensors.addend, tensors.target, source.type == Type::s8,
                source.zero_point, nullptr});
  }

 private:
  MatMulOperands operands_;
  WidenedLayer layer_;
};

}  // namespace

Made make_int8_widened_matmul(const KernelArgs& args) {
  MatMulOperands operands(args);
  if (is_library_exact(operands.inner)) return refuse("oneDNN's sums are exact on this CPU");
  return made<Int8WidenedMatMulKernel>(args, std::move(operands));
}

Made make_int8_avx_vnni_matmul(const KernelArgs& args) {
  MatMulOperands operands(args);
  if (std::string why = avx_vnni_refusal(args.fusion, operands.inner); !why.empty())
    return refuse(std::move(why));
  return made<Int8WidenedMatMulKernel>(args, std::move(operands));
}

}  // namespace gantry::x86
