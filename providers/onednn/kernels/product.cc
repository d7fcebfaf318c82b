// SPDX-License-Identifier: Apache-2.0
// MatMul (ai.onnx 1, 9, 13) and Gemm (7, 9, 11, 13) of f32 or 8 bits and QLinearMatMul (10, 21)
// whose right-hand matrix is constant: it is packed when the model is loaded, and what follows
// (bias, activation, another tensor added) is done before the result is stored.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "ahead.h"
#include "bytes/word_layer.h"
#include "constants.h"
#include "dense/layer.h"
#include "epilogue.h"
#include "kernels/kernels.h"
#include "packed_weights.h"
#include "rescaling.h"

namespace gantry::onednn {
namespace {

constexpr int64_t kGuessedRows = 64;  // of the left-hand matrix, if they are not known before

class ProductKernel final : public sdk::Kernel {
 public:
  explicit ProductKernel(const KernelArgs& args)
      : unit_(args.unit),
        source_slot_(static_cast<int>(args.slot_of(unit_.sources[0].value))),
        label_(args.index.node(unit_.anchor).label()),
        output_slot_(args.output_slot()) {
    if (unit_.addend.value != GANTRY_NONE)
      addend_slot_ = static_cast<int>(args.slot_of(unit_.addend.value));
    pack(args);
    prepare(args);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<FusedVariants>>();
  }

  void run(sdk::Call& call) const override {
    auto& cache = static_cast<PlanCache<FusedVariants>&>(*call.context());
    const sdk::Shape input = call.shape(source_slot_);
    if (input.rank < 2 || input[input.rank - 1] != inner_) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       label_ + ": the last extent of input 0 was expected to be " +
                           std::to_string(inner_) + ", that of the rows of input 1, and is " +
                           (input.rank > 0 ? std::to_string(input[input.rank - 1]) : "absent"));
    }
    std::array<int64_t, 8> extents{};
    std::copy(input.data, input.data + input.rank, extents.begin());
    extents[static_cast<size_t>(input.rank) - 1] = columns_;
    const sdk::Shape output(extents.data(), input.rank);
    gantry_tensor& target =
        call.output(static_cast<int>(output_slot_), dtype_of(unit_.target.type()), output);
    const int64_t rows = input.count(0, input.rank - 1);
    if (rows == 0) return;
    const void* addend = addend_slot_ >= 0 ? call.input(addend_slot_).data : nullptr;
    if (addend && call.shape(addend_slot_) != output) {
      throw sdk::Error(
          GANTRY_INVALID_ARGUMENT,
          label_ + ": the tensor added to the result has another shape than the result");
    }
    if (words_) {
      const Quantization& source = *unit_.sources[0].quantization;
      return words_->run(call, rows,
                         {call.input(source_slot_).data, addend, target.data,
                          source.type == Type::s8, source.zero_point, nullptr});
    }
    if (dense_) {
      return dense_->run(call, rows, call.data<float>(source_slot_),
                         static_cast<const float*>(addend), static_cast<float*>(target.data));
    }
    const bool in_place = addend && addend == target.data;
    const int threads = call.thread_count();
    cache.key.assign({rows, threads});
    cache.get([] { return FusedVariants(); })
        .get(threads, in_place, [&](bool adds_there) { return make(rows, threads, adds_there); })
        .run(call, threads, cache.stream, call.input(source_slot_).data,
             in_place ? nullptr : addend, target.data);
  }

 private:
  struct Described {
    dnnl::matmul::primitive_desc primitive;
    int addend_argument = 0;
  };

  [[nodiscard]] Described describe(int64_t rows, const Desc& weights, bool in_place) const {
    const Desc target({rows, columns_}, unit_.target.type(), Tag::ab);
    const Epilogue epilogue(unit_, addend_desc(rows), in_place);
    const Desc source({rows, inner_}, unit_.source_type(), Tag::ab);
    dnnl::primitive_attr attr = attributes(epilogue.ops);
    rescaling_.describe(attr);
    if (!has_bias_) return {{engine(), source, weights, target, attr}, epilogue.addend_argument};
    const Desc bias = desc_f32({1, columns_}, Tag::ab);
    return {{engine(), source, weights, bias, target, attr}, epilogue.addend_argument};
  }

  [[nodiscard]] Desc addend_desc(int64_t rows) const {
    return {{rows, columns_}, unit_.addend.type(), Tag::ab};
  }

  /// Rows of the left-hand matrix; less than 1: the model does not say.
  [[nodiscard]] int64_t known_rows(const GraphIndex& index) const {
    const sdk::ValueView left = index.value(unit_.sources[0].value);
    int64_t rows = 1;
    for (int i = 0; i + 1 < left.rank(); ++i) rows *= std::max<int64_t>(left.extent(i), 0);
    return rows;
  }

  /// Has the primitive made that the first run needs, if the model says its shape.
  void prepare(const KernelArgs& args) {
    const int64_t rows = known_rows(args.index);
    if (rows < 1 || words_) return;
    const bool in_place = may_replace_addend(args.index, unit_);
    prepared_.start({rows, args.threads(), in_place ? 1 : 0}, args.threads(),
                    [this, rows, in_place] { return make_new(rows, in_place); });
  }

  [[nodiscard]] FusedPrimitive make(int64_t rows, int threads, bool in_place) const {
    std::optional<FusedPrimitive> made = prepared_.take({rows, threads, in_place ? 1 : 0});
    return made ? std::move(*made) : make_new(rows, in_place);
  }

  [[nodiscard]] FusedPrimitive make_new(int64_t rows, bool in_place) const {
    const Described described = describe_with(
        packed_, any_, [&](const Desc& weights) { return describe(rows, weights, in_place); });
    const Desc source = described.primitive.src_desc();
    const Desc given({rows, inner_}, unit_.sources[0].type(), Tag::ab);
    const Desc target = described.primitive.dst_desc();
    FusedPrimitive fused;
    fused.source = Operand::input(given, source);
    fused.target = Operand::output(target, target);
    fused.scratchpad = Scratchpad(described.primitive.scratchpad_desc());
    fused.launch = Launch(dnnl::matmul(described.primitive),
                          {{DNNL_ARG_SRC, fused.source.memory()},
                           {DNNL_ARG_WEIGHTS, packed_.in(WeightsLayout::of(described.primitive))},
                           {DNNL_ARG_DST, fused.target.memory()},
                           {DNNL_ARG_SCRATCHPAD, fused.scratchpad.memory()}});
    if (has_bias_) fused.launch.add(DNNL_ARG_BIAS, bias_);
    rescaling_.bind(fused.launch);
    if (described.addend_argument != 0) {
      fused.addend = Operand::input(addend_desc(rows), addend_desc(rows));
      fused.launch.add(described.addend_argument, fused.addend.memory());
    }
    return fused;
  }

  void pack(const KernelArgs& args) {
    const GraphIndex& index = args.index;
    const sdk::NodeView node = index.node(unit_.anchor);
    const bool is_gemm = node.op_type() == "Gemm";
    const bool is_transposed = is_gemm && node.get_int("transB", 0) != 0;
    const sdk::ValueView matrix = index.value(unit_.weights);
    inner_ = matrix.extent(is_transposed ? 1 : 0);
    columns_ = matrix.extent(is_transposed ? 0 : 1);
    const float alpha = is_gemm ? node.get_float("alpha", 1) : 1;
    const float beta = is_gemm ? node.get_float("beta", 1) : 1;
    std::vector<float> scale(static_cast<size_t>(columns_), alpha);
    std::vector<float> bias = *bias_of(index, unit_, columns_);
    for (float& x : bias) x *= beta;
    const Chain& chain = unit_.chain;
    for (size_t i = 0; i < chain.scale.size(); ++i) {
      scale[i] *= chain.scale[i];
      bias[i] = bias[i] * chain.scale[i] + chain.shift[i];
    }
    if (unit_.weight_quantization) {  // the factor goes to the scales, which are applied anyway
      for (float& x : unit_.weight_quantization->scales) x *= alpha;
      scale.clear();
    }
    rescaling_ = Rescaling(unit_, 2);
    bias = rescaling_.bias_of(std::move(bias));
    if (unit_.is_quantized() && !is_library_exact(inner_))
      return pack_words(args, matrix.constant()->data, is_transposed, bias);
    if (std::all_of(scale.begin(), scale.end(), [](float x) { return x == 1; })) scale.clear();
    const int64_t known = known_rows(index);
    if (is_dense(known)) {
      return dense_.emplace().pack(
          args.index.host(), args.choices,
          {matrix.constant()->data, inner_, columns_, is_transposed, scale}, bias, chain);
    }
    has_bias_ = std::any_of(bias.begin(), bias.end(), [](float x) { return x != 0; });
    const int64_t rows = known > 0 ? known : kGuessedRows;
    const Type plain = unit_.weight_quantization ? Type::s8 : Type::f32;
    any_ = {{inner_, columns_}, unit_.weights_type(), Tag::any};
    const auto layout = [&] {
      WeightsLayout chosen;
      with_threads(args.threads(),
                   [&] { chosen = WeightsLayout::of(describe(rows, any_, false).primitive); });
      return chosen;
    };
    packed_.pack(index.host(), args.choices, layout,
                 {{{inner_, columns_}, plain, is_transposed ? Tag::ba : Tag::ab},
                  matrix.constant()->data,
                  std::move(scale),
                  2,
                  weight_offset(unit_),
                  unit_.is_quantized() ? unit_.sources[0].quantization->type : Type::undef,
                  rescaling_.has_source_zero_point()});
    if (!has_bias_) return;
    bias_ = dnnl::memory(desc_f32({1, columns_}, Tag::ab), engine());
    std::memcpy(bias_.get_data_handle(), bias.data(), bias.size() * sizeof(float));
  }

  void pack_words(const KernelArgs& args, const void* matrix, bool is_transposed,
                  const std::vector<float>& bias) {
    words_.emplace().pack(
        args.index.host(), args.choices,
        WordLayer::Plain::matrix(matrix, inner_, columns_, is_transposed, weight_offset(unit_)),
        unit_, byte_type_of(unit_.target.type()), rescaling_.scales(), bias);
  }

  /// `rows`: of the other factor, 0 or less if they are not known.
  [[nodiscard]] bool is_dense(int64_t rows) const {
    return !unit_.is_quantized() && !unit_.rounds_to_bf16 &&
           DenseLayer::takes(rows, inner_, columns_) && dense_steps_of(unit_.chain);
  }

  Unit unit_;
  int source_slot_;
  std::string label_;
  size_t output_slot_;
  Rescaling rescaling_;
  int addend_slot_ = -1;
  int64_t inner_ = 0;
  int64_t columns_ = 0;
  bool has_bias_ = false;
  Desc any_;  // of the matrix
  PackedWeights packed_;
  dnnl::memory bias_;
  std::optional<DenseLayer> dense_;    // where the CPU has the code for it
  std::optional<WordLayer> words_;     // where the library's sums of 8 bits would not be exact
  Prepared<FusedPrimitive> prepared_;  // last
};

}  // namespace

std::string product_refusal(const GraphIndex& index, const Unit& unit) {
  const sdk::NodeView view = index.node(unit.anchor);
  const bool is_gemm = view.op_type() == "Gemm";
  if (view.op_type() == "QLinearMatMul" && !unit.is_quantized())
    return "its scales and zero points are not constant";
  const sdk::ValueView left = index.value(unit.sources[0].value);
  const sdk::ValueView right = index.value(unit.weights);
  if (!unit.is_quantized() && left.dtype() != GANTRY_FLOAT) return "only float32 is taken";
  if (!has_constant_weights(index, unit) || right.rank() != 2)
    return "the second matrix is not constant";
  if (left.rank() < 2 || left.rank() > 8) return "the first tensor is not of rank 2 to 8";
  if (right.extent(0) < 1 || right.extent(1) < 1) return "the second matrix is empty";
  if (is_gemm && (view.since_version() < 7 || view.get_int("transA", 0) != 0))
    return "the first matrix is transposed";
  const bool is_transposed = is_gemm && view.get_int("transB", 0) != 0;
  const int64_t inner = left.extent(left.rank() - 1);
  if (inner >= 0 && inner != right.extent(is_transposed ? 1 : 0))
    return "its shapes do not fit each other";
  if (!bias_of(index, unit, right.extent(is_transposed ? 0 : 1)))
    return "the third matrix is not a constant row";
  return unit.is_quantized() ? inexactness_of(unit, right.extent(is_transposed ? 1 : 0))
                             : std::string();
}

AnchorTraits product_traits(const GraphIndex& index, uint32_t node) {
  const sdk::NodeView view = index.node(node);
  const bool is_transposed = view.op_type() == "Gemm" && view.get_int("transB", 0) != 0;
  const int rank = view.input(0).rank();
  const int axis = is_transposed ? 0 : 1;
  const bool has_matrix = view.input(1).rank() == 2;
  AnchorTraits traits{rank, rank - 1, has_matrix ? view.input(1).extent(axis) : 0};
  traits.weights_axis = axis;
  traits.is_linear = view.op_type() == "QLinearMatMul";
  return traits;
}

std::unique_ptr<sdk::Kernel> make_product(const KernelArgs& args) {
  return std::make_unique<ProductKernel>(args);
}

}  // namespace gantry::onednn
