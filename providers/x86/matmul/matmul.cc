// SPDX-License-Identifier: Apache-2.0
// MatMul (ai.onnx 1, 9, 13) and Gemm (7, 9, 11, 13) of f32 or int8 and QLinearMatMul (10, 21)
// with a constant right-hand matrix by oneDNN, and the list of their implementations. The matrix is
// packed when the model is loaded; the epilogue (bias, activation, another tensor added) is applied
// before the result is stored.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "fuse/kernels.h"
#include "int8/widened_layer.h"
#include "matmul/implementations.h"
#include "matmul/operands.h"
#include "onednn/background.h"
#include "onednn/packed_weights.h"
#include "onednn/post_ops.h"

namespace gantry::x86 {
namespace {

// By oneDNN.
class LibraryMatMulKernel final : public sdk::Kernel {
 public:
  explicit LibraryMatMulKernel(const KernelArgs& args) : operands_(args) {
    pack(args);
    prepare(args);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<FusedVariants>>();
  }

  void run(sdk::Call& call) const override {
    const MatMulOperands::Tensors tensors = operands_.of(call);
    if (tensors.rows == 0) return;
    auto& cache = static_cast<PlanCache<FusedVariants>&>(*call.context());
    const int threads = call.thread_count();
    cache.key.assign({tensors.rows, threads});
    const FusedTensors fused = {.source = tensors.source,
                                .source_elements = tensors.rows * operands_.inner,
                                .addend = tensors.addend,
                                .target = tensors.target,
                                .target_elements = tensors.rows * operands_.columns};
    cache.get([] { return FusedVariants(); })
        .run(call, cache.stream, fused, own_epilogue_,
             [&](Variant variant) { return make(tensors.rows, threads, variant); });
  }

 private:
  struct Described {
    dnnl::matmul::primitive_desc primitive;
    int addend_argument = 0;
  };

  [[nodiscard]] Described describe(int64_t rows, const Desc& weights, Variant variant) const {
    const Fusion& fusion = operands_.fusion;
    const Desc target({rows, operands_.columns}, fusion.target.type(), Tag::ab);
    const PostOps post_ops(fusion, addend_desc(rows), variant);
    const Desc source({rows, operands_.inner}, fusion.source_type(), Tag::ab);
    dnnl::primitive_attr attr = attributes(post_ops.ops);
    operands_.rescaling.describe(attr);
    if (!has_bias_) return {{engine(), source, weights, target, attr}, post_ops.addend_argument};
    const Desc bias = desc_f32({1, operands_.columns}, Tag::ab);
    return {{engine(), source, weights, bias, target, attr}, post_ops.addend_argument};
  }

  [[nodiscard]] Desc addend_desc(int64_t rows) const {
    return {{rows, operands_.columns}, operands_.fusion.addend.type(), Tag::ab};
  }

  /// Starts compiling the primitive for the first run in the background, if the shape is static.
  void prepare(const KernelArgs& args) {
    const int64_t rows = operands_.known_rows;
    if (rows < 1) return;
    const bool in_place = may_replace_addend(args.index, operands_.fusion);
    const Variant variant = in_place ? Variant::kInPlace : Variant::kPlain;
    prepared_.start({rows, args.threads(), static_cast<int64_t>(variant)}, args.threads(),
                    [this, rows, variant] { return make_new(rows, variant); });
  }

  [[nodiscard]] FusedPrimitive make(int64_t rows, int threads, Variant variant) const {
    std::optional<FusedPrimitive> made =
        prepared_.take({rows, threads, static_cast<int64_t>(variant)});
    return made ? std::move(*made) : make_new(rows, variant);
  }

  [[nodiscard]] FusedPrimitive make_new(int64_t rows, Variant variant) const {
    const Described described = describe_with(
        packed_, any_, [&](const Desc& weights) { return describe(rows, weights, variant); });
    const Desc source = described.primitive.src_desc();
    const Desc given({rows, operands_.inner}, operands_.fusion.sources[0].type(), Tag::ab);
    const Desc target = described.primitive.dst_desc();
    FusedPrimitive fused;
    fused.source = Operand::input(given, source);
    fused.target = Operand::output(target, target);
    fused.scratchpad = Scratchpad(described.primitive.scratchpad_desc());
    fused.launch = Launch(operands_.label, dnnl::matmul(described.primitive),
                          {{DNNL_ARG_SRC, fused.source.memory()},
                           {DNNL_ARG_WEIGHTS, packed_.in(WeightsLayout::of(described.primitive))},
                           {DNNL_ARG_DST, fused.target.memory()},
                           {DNNL_ARG_SCRATCHPAD, fused.scratchpad.memory()}});
    if (has_bias_) fused.launch.add(DNNL_ARG_BIAS, bias_);
    operands_.rescaling.bind(fused.launch);
    if (operands_.fusion.addend.value != GANTRY_NONE && variant != Variant::kInPlace) {
      fused.addend = Operand::input(addend_desc(rows), addend_desc(rows));
      if (described.addend_argument != 0)
        fused.launch.add(described.addend_argument, fused.addend.memory());
    }
    return fused;
  }

  void pack(const KernelArgs& args) {
    const Fusion& fusion = operands_.fusion;
    has_bias_ =
        std::any_of(operands_.bias.begin(), operands_.bias.end(), [](float x) { return x != 0; });
    const int64_t rows = operands_.known_rows > 0 ? operands_.known_rows : kGuessedRows;
    const Type plain = fusion.weight_quantization ? Type::s8 : Type::f32;
    any_ = {{operands_.inner, operands_.columns}, fusion.weights_type(), Tag::any};
    const auto layout = [&] {
      WeightsLayout chosen;
      with_threads(args.threads(), [&] {
        chosen = WeightsLayout::of(describe(rows, any_, Variant::kPlain).primitive);
      });
      return chosen;
    };
    packed_.pack(
        args.index.host(), args.choices, layout,
        {{{operands_.inner, operands_.columns}, plain, operands_.is_transposed ? Tag::ba : Tag::ab},
         operands_.matrix,
         operands_.scale,
         2,
         weight_offset(fusion),
         fusion.is_quantized() ? fusion.sources[0].quantization->type : Type::undef,
         operands_.rescaling.has_source_zero_point()});
    own_epilogue_.set(fusion, operands_.bias,
                      [this] { return packed_.in(WeightsLayout(packed_.desc())); });
    if (!has_bias_) return;
    bias_ = dnnl::memory(desc_f32({1, operands_.columns}, Tag::ab), engine());
    std::memcpy(bias_.get_data_handle(), operands_.bias.data(),
                operands_.bias.size() * sizeof(float));
  }

  MatMulOperands operands_;
  bool has_bias_ = false;
  Desc any_;  // of the matrix
  PackedWeights packed_;
  dnnl::memory bias_;
  OwnEpilogue own_epilogue_;
  Prepared<FusedPrimitive> prepared_;  // last
};

}  // namespace

std::string matmul_refusal(const GraphIndex& index, const Fusion& fusion) {
  const sdk::NodeView view = index.node(fusion.root);
  const bool is_gemm = view.op_type() == "Gemm";
  if (view.op_type() == "QLinearMatMul" && !fusion.is_quantized())
    return "its scales and zero points are not constant";
  const sdk::ValueView left = index.value(fusion.sources[0].value);
  const sdk::ValueView right = index.value(fusion.weights);
  if (!fusion.is_quantized() && left.dtype() != GANTRY_FLOAT) return "only float32 is taken";
  if (!has_constant_weights(index, fusion) || right.rank() != 2)
    return "the second matrix is not constant";
  if (left.rank() < 2 || left.rank() > 8) return "the first tensor is not of rank 2 to 8";
  if (right.extent(0) < 1 || right.extent(1) < 1) return "the second matrix is empty";
  if (is_gemm && (view.since_version() < 7 || view.get_int("transA", 0) != 0))
    return "the first matrix is transposed";
  const bool is_transposed = is_gemm && view.get_int("transB", 0) != 0;
  const int64_t inner = left.extent(left.rank() - 1);
  if (inner >= 0 && inner != right.extent(is_transposed ? 1 : 0))
    return "its shapes do not fit each other";
  if (!bias_of(index, fusion, right.extent(is_transposed ? 0 : 1)))
    return "the third matrix is not a constant row";
  return fusion.is_quantized() ? inexactness_of(fusion, right.extent(is_transposed ? 1 : 0))
                               : std::string();
}

RootTraits matmul_traits(const GraphIndex& index, uint32_t node) {
  const sdk::NodeView view = index.node(node);
  const bool is_transposed = view.op_type() == "Gemm" && view.get_int("transB", 0) != 0;
  const int rank = view.input(0).rank();
  const int axis = is_transposed ? 0 : 1;
  const bool has_matrix = view.input(1).rank() == 2;
  RootTraits traits{rank, rank - 1, has_matrix ? view.input(1).extent(axis) : 0};
  traits.weights_axis = axis;
  traits.is_linear = view.op_type() == "QLinearMatMul";
  return traits;
}

std::span<const Implementation> matmul_implementations(const Fusion& fusion) {
  static constexpr Implementation kFloat[] = {{"packed", make_packed_matmul},
                                              {"oneDNN", make_always<LibraryMatMulKernel>}};
  static constexpr Implementation kInt8[] = {{"int8 widened to int16", make_int8_widened_matmul},
                                             {"int8 avx_vnni", make_int8_avx_vnni_matmul},
                                             {"oneDNN", make_always<LibraryMatMulKernel>}};
  if (fusion.is_quantized()) return kInt8;
  return kFloat;
}

}  // namespace gantry::x86
