// SPDX-License-Identifier: Apache-2.0
// MatMulInteger where oneDNN's sums, or its zero-point compensation, would not be exact; and by
// AVX-VNNI.
#include <algorithm>

#include "int8/widened_layer.h"
#include "matmul/implementations.h"
#include "matmul/integer_operands.h"

namespace gantry::x86 {
namespace {

class Int8WidenedMatMulInteger final : public sdk::Kernel {
 public:
  Int8WidenedMatMulInteger(const KernelArgs& args, IntegerOperands&& operands)
      : operands_(std::move(operands)) {
    layer_.pack(args.index.host(), args.choices,
                WidenedLayer::Plain::matrix(operands_.matrix, operands_.inner, operands_.columns,
                                            false, weight_offset(operands_.fusion)),
                operands_.fusion, operands_.is_float() ? Int8Type::kF32 : Int8Type::kS32, {},
                operands_.bias);
  }

  void run(sdk::Call& call) const override {
    const IntegerOperands::Tensors tensors = operands_.of(call);
    if (tensors.rows == 0) return;
    float* scales = nullptr;
    if (operands_.is_float()) {
      const float* given = operands_.scales_of(call);
      scales = call.scratch<float>(layer_.padded());
      std::fill_n(scales, layer_.padded(), *given);
      if (operands_.scale_count > 1) std::copy_n(given, operands_.scale_count, scales);
    }
    layer_.run(call, tensors.rows,
               {tensors.source, nullptr, tensors.target, operands_.source_type == Type::s8,
                operands_.zero_point_of(call), scales});
  }

 private:
  IntegerOperands operands_;
  WidenedLayer layer_;
};

/// True if oneDNN's zero-point compensation, which it subtracts in f32, may be rounded.
bool rounds_large_sums(const IntegerOperands& operands) {
  constexpr int64_t kExactProducts = (1 << 24) / (255 * 128);
  return !operands.is_float() && operands.has_zero_point() && operands.inner > kExactProducts;
}

}  // namespace

Made make_int8_widened_matmul_integer(const KernelArgs& args) {
  IntegerOperands operands(args);
  if (is_library_exact(operands.inner) && !rounds_large_sums(operands))
    return refuse("oneDNN's sums are exact on this CPU");
  return made<Int8WidenedMatMulInteger>(args, std::move(operands));
}

Made make_int8_avx_vnni_matmul_integer(const KernelArgs& args) {
  IntegerOperands operands(args);
  if (std::string why = avx_vnni_refusal(args.fusion, operands.inner); !why.empty())
    return refuse(std::move(why));
  return made<Int8WidenedMatMulInteger>(args, std::move(operands));
}

}  // namespace gantry::x86
