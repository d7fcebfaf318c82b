// SPDX-License-Identifier: Apache-2.0
// ConvTranspose (ai.onnx 1, 11, 22) of f32 or int8 with constant weights and one group,
// channels-last, with the epilogue of a convolution, and the list of ConvTranspose implementations.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "conv/conv_shape.h"
#include "conv/conv_transpose_shape.h"
#include "conv/implementations.h"
#include "fuse/constants.h"
#include "fuse/kernels.h"
#include "int8/widened_layer.h"
#include "onednn/packed_weights.h"
#include "onednn/post_ops.h"
#include "onednn/scales.h"

namespace gantry::x86 {
namespace {

/// The plan for an input shape and a number of threads.
struct TransposedPlan {
  Dims input;
  Dims output;
  bool is_empty = false;
  bool is_target_inner = false;  ///< oneDNN writes the output without a reorder
  FusedVariants variants;
};

class ConvTransposeKernel final : public sdk::Kernel {
 public:
  explicit ConvTransposeKernel(const KernelArgs& args)
      : fusion_(args.fusion),
        shape_(args.index, fusion_.root),
        slots_(args),
        rescaling_(fusion_, 1) {
    pack(args);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<TransposedPlan>>();
  }

  void run(sdk::Call& call) const override {
    auto& cache = static_cast<PlanCache<TransposedPlan>&>(*call.context());
    const sdk::Shape input = call.shape(slots_.source);
    shape_.check_input(input);
    const int threads = call.thread_count();
    cache.key.assign(input.data, input.data + input.rank);
    cache.key.push_back(threads);
    TransposedPlan& plan = cache.get([&] {
      return make_plan({input.data, input.data + input.rank});
    });
    const sdk::Shape output(plan.output.data(), static_cast<int>(plan.output.size()));
    gantry_tensor& target = call.output(slots_.target, dtype_of(fusion_.target.type()), output);
    if (plan.is_empty) return;
    FusedTensors tensors;
    tensors.source = call.input(slots_.source).data;
    tensors.source_elements = input.element_count();
    tensors.target = target.data;
    tensors.target_elements = output.element_count();
    if (slots_.addend >= 0) {
      shape_.check_addend(call.shape(slots_.addend), output);
      tensors.addend = call.input(slots_.addend).data;
    }
    tensors.is_target_inner = plan.is_target_inner;
    plan.variants.run(call, cache.stream, tensors, own_epilogue_,
                      [&](Variant variant) { return make(plan, variant); });
  }

 private:
  struct Described {
    dnnl::deconvolution_forward::primitive_desc primitive;
    int addend_argument = 0;
  };

  [[nodiscard]] Described describe(const Dims& input, const Desc& weights, Variant variant) const {
    const Dims output = shape_.output_of(input);
    const PostOps post_ops(fusion_, desc_of(output, true, fusion_.addend.type()), variant);
    dnnl::primitive_attr attr = attributes(post_ops.ops);
    rescaling_.describe(attr);
    const Window& window = shape_.window;
    Dims dilations = window.dilations;
    for (int64_t& dilation : dilations) --dilation;  // oneDNN's dilation is ONNX's - 1
    Dims pads_end;
    for (size_t i = 0; i < shape_.spatial_rank(); ++i) pads_end.push_back(shape_.pad_end(i));
    const auto described = [&] {
      return dnnl::deconvolution_forward::primitive_desc(
          engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct,
          desc_of(input, true, fusion_.sources[0].type()), weights,
          desc_f32({shape_.weights[1]}, Tag::a), desc_of(output, true, fusion_.target.type()),
          window.strides, dilations, window.pads_begin, pads_end, attr);
    };
    return {best_implementation(shape_.label, described), post_ops.addend_argument};
  }

  [[nodiscard]] TransposedPlan make_plan(const Dims& input) const {
    TransposedPlan plan;
    plan.input = input;
    plan.output = shape_.output_of(input);
    for (int64_t& extent : plan.output) extent = std::max<int64_t>(extent, 0);
    plan.is_empty = *std::min_element(plan.output.begin(), plan.output.end()) == 0;
    plan.is_target_inner =
        desc_of(plan.output, slots_.target_is_formatted) == desc_of(plan.output, true);
    return plan;
  }

  [[nodiscard]] FusedPrimitive make(const TransposedPlan& plan, Variant variant) const {
    const Described described = describe_with(packed_, any(), [&](const Desc& weights) {
      return describe(plan.input, weights, variant);
    });
    const Type target = fusion_.target.type();
    FusedPrimitive fused;
    fused.source =
        Operand::input(desc_of(plan.input, slots_.source_is_formatted, fusion_.sources[0].type()),
                       described.primitive.src_desc());
    fused.target = Operand::output(desc_of(plan.output, slots_.target_is_formatted, target),
                                   desc_of(plan.output, true, target));
    fused.scratchpad = Scratchpad(described.primitive.scratchpad_desc());
    fused.launch = Launch(shape_.label, dnnl::deconvolution_forward(described.primitive),
                          {{DNNL_ARG_SRC, fused.source.memory()},
                           {DNNL_ARG_WEIGHTS, packed_.in(WeightsLayout::of(described.primitive))},
                           {DNNL_ARG_BIAS, bias_},
                           {DNNL_ARG_DST, fused.target.memory()},
                           {DNNL_ARG_SCRATCHPAD, fused.scratchpad.memory()}});
    rescaling_.bind(fused.launch);
    if (fusion_.addend.value != GANTRY_NONE && variant != Variant::kInPlace) {
      const Type addend = fusion_.addend.type();
      fused.addend = Operand::input(desc_of(plan.output, slots_.addend_is_formatted, addend),
                                    desc_of(plan.output, true, addend));
      if (described.addend_argument != 0)
        fused.launch.add(described.addend_argument, fused.addend.memory());
    }
    return fused;
  }

  /// Extents of the weights in oneDNN's order: [O, I, kernel...].
  [[nodiscard]] Dims weight_dims() const {
    Dims dims = shape_.weights;
    std::swap(dims[0], dims[1]);
    return dims;
  }
  [[nodiscard]] Desc any() const { return {weight_dims(), fusion_.weights_type(), Tag::any}; }

  void pack(const KernelArgs& args) {
    const sdk::ValueView source = args.index.value(fusion_.sources[0].value);
    Dims input;
    for (int i = 0; i < source.rank(); ++i) {
      const int64_t guess = i == 0 ? 1 : i == 1 ? shape_.weights[0] : kGuessedExtent;
      input.push_back(source.extent(i) > 0 ? source.extent(i) : guess);
    }
    const auto layout = [&] {
      WeightsLayout chosen;
      with_threads(args.threads(), [&] {
        chosen = WeightsLayout::of(describe(input, any(), Variant::kPlain).primitive);
      });
      return chosen;
    };
    constexpr std::array kTags = {Tag::bac, Tag::bacd, Tag::bacde};
    packed_.pack(args.index.host(), args.choices, layout,
                 {{weight_dims(), fusion_.weights_type(), kTags.at(shape_.spatial_rank() - 1)},
                  args.index.value(fusion_.weights).constant()->data,
                  fusion_.epilogue.scale,
                  1,
                  weight_offset(fusion_),
                  fusion_.is_quantized() ? fusion_.sources[0].quantization->type : Type::undef,
                  rescaling_.has_source_zero_point()});
    const std::vector<float> bias =
        rescaling_.bias_of(folded_bias(args.index, fusion_, shape_.weights[1]));
    bias_ = dnnl::memory(desc_f32({shape_.weights[1]}, Tag::a), engine());
    std::memcpy(bias_.get_data_handle(), bias.data(), bias.size() * sizeof(float));
    own_epilogue_.set(fusion_, bias, [this] { return packed_.in(WeightsLayout(packed_.desc())); });
  }

  Fusion fusion_;
  ConvTransposeShape shape_;
  ConvSlots slots_;
  Rescaling rescaling_;
  PackedWeights packed_;
  dnnl::memory bias_;
  OwnEpilogue own_epilogue_;
};

}  // namespace

std::string conv_transpose_refusal(const GraphIndex& index, const Fusion& fusion) {
  constexpr int64_t kFewChannels = 16;
  constexpr auto kWanted = static_cast<unsigned>(dnnl::cpu_isa::avx2);
  if ((static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kWanted) != kWanted)
    return "the library has no code for it on this CPU";
  if (index.node(fusion.root).input(0).dtype() != GANTRY_FLOAT) return "only float32 is taken";
  const ConvTransposeShape shape(index, fusion.root);
  if (!shape.fault.empty()) return shape.fault;
  if (!has_constant_weights(index, fusion)) return "the weights are not constant";
  if (fusion.is_quantized() && !is_library_exact(shape.products()))
    return "the library's sums of its int8 products would not be exact on this CPU";
  if (!bias_of(index, fusion, shape.weights[1])) return "the bias is not constant";
  if (shape.weights[0] < kFewChannels || shape.weights[1] < kFewChannels)
    return "the library is slow at few channels";
  return {};
}

RootTraits conv_transpose_traits(const GraphIndex& index, uint32_t node) {
  const sdk::NodeView view = index.node(node);
  const bool has_weights = view.input(1).rank() > 2 && view.get_int("group", 1) == 1;
  RootTraits traits{view.input(0).rank(), 1, has_weights ? view.input(1).extent(1) : 0};
  traits.weights_axis = 1;
  return traits;
}

std::span<const Implementation> conv_transpose_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {{"implicit gemm", make_implicit_gemm_conv_transpose},
                                            {"oneDNN", make_always<ConvTransposeKernel>}};
  return kAll;
}

}  // namespace gantry::x86
