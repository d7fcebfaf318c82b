// SPDX-License-Identifier: Apache-2.0
// ConvTranspose (ai.onnx 1, 11, 22) of f32 or int8 with constant weights and one group,
// channels-last, with the epilogue of a convolution.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "conv/conv_shape.h"
#include "fuse/constants.h"
#include "fuse/kernels.h"
#include "int8/widened_layer.h"
#include "onednn/packed_weights.h"
#include "onednn/post_ops.h"
#include "onednn/scales.h"

namespace gantry::x86 {
namespace {

/// The node's attributes and the extents of its weights. With one spatial axis of open extent there
/// is a second one of extent 1 behind it, in tensors too (extended()): oneDNN prepares code for
/// each position of the last axis, which takes seconds for a sound's time.
struct ConvTransposeShape {
  bool has_extra_axis = false;
  Window window;
  Dims output_padding;
  Dims weights;       ///< [I, O, kernel...]
  std::string fault;  ///< why the provider refuses it; empty: it does not

  explicit ConvTransposeShape(const GraphIndex& index, uint32_t root) {
    const sdk::NodeView node = index.node(root);
    const sdk::ValueView source = node.input(0);
    const sdk::ValueView constant = node.input(1);
    const int rank = source.rank();
    if (rank < 3 || rank > 5 || constant.rank() != rank) {
      fault = "only inputs of rank 3 to 5 are taken, and weights of the same";
      return;
    }
    for (int i = 0; i < rank; ++i) weights.push_back(constant.extent(i));
    window.kernel.assign(weights.begin() + 2, weights.end());
    output_padding = node.get_ints("output_padding", Dims(spatial_rank(), 0));
    fault = window.read(node, spatial_rank());
    if (!fault.empty()) return;
    if (*std::min_element(weights.begin(), weights.end()) < 1) fault = "the weights are empty";
    if (node.get_int("group", 1) != 1) fault = "only one group is taken";
    if (window.automatic != Window::Auto::kNone || !node.get_ints("output_shape", {}).empty())
      fault = "the padding follows from the output's shape";
    if (!std::equal(window.kernel.begin(), window.kernel.end(), weights.begin() + 2) ||
        output_padding.size() != spatial_rank() ||
        (source.extent(1) >= 0 && source.extent(1) != weights[0]))
      fault = "its shapes do not fit each other";
    if (fault.empty() && spatial_rank() == 1 && source.extent(2) < 0) add_axis();
    for (size_t i = 0; fault.empty() && i < spatial_rank(); ++i) {
      // oneDNN has no output padding: it is subtracted from the padding, which must not be
      // negative.
      if (output_padding[i] < 0 || output_padding[i] > window.pads_end[i])
        fault = "more is added to the output than the padding takes away";
    }
  }

  [[nodiscard]] size_t spatial_rank() const { return weights.size() - 2; }
  /// The rank of the node's tensors.
  [[nodiscard]] int rank() const {
    return static_cast<int>(weights.size()) - (has_extra_axis ? 1 : 0);
  }
  /// The extents of one of the node's tensors, as the other functions take them.
  [[nodiscard]] Dims extended(Dims dims) const {
    if (has_extra_axis) dims.push_back(1);
    return dims;
  }

  /// [N, O, spatial...]; an extent is 0 or less if padding removes the whole output.
  [[nodiscard]] Dims output_of(const Dims& input) const {
    Dims output = {input[0], weights[1]};
    for (size_t i = 0; i < spatial_rank(); ++i) {
      const int64_t extent =
          (input[i + 2] - 1) * window.strides[i] + window.dilations[i] * (window.kernel[i] - 1) + 1;
      output.push_back(input[i + 2] < 1 ? 0 : extent - window.pads_begin[i] - pad_end(i));
    }
    return output;
  }
  /// Most multiply-adds of an output element.
  [[nodiscard]] int64_t products() const {
    return std::accumulate(window.kernel.begin(), window.kernel.end(), weights[0],
                           std::multiplies<>());
  }
  [[nodiscard]] int64_t pad_end(size_t axis) const {
    return window.pads_end[axis] - output_padding[axis];
  }

 private:
  void add_axis() {
    has_extra_axis = true;
    weights.push_back(1);
    output_padding.push_back(0);
    window.kernel.push_back(1);
    window.strides.push_back(1);
    window.dilations.push_back(1);
    window.pads_begin.push_back(0);
    window.pads_end.push_back(0);
  }
};

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
        label_(args.index.node(fusion_.root).label()),
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
    if (input.rank != shape_.rank() || input[1] != shape_.weights[0]) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, label_ + ": the input was expected to have rank " +
                                                    std::to_string(shape_.rank()) + " and " +
                                                    std::to_string(shape_.weights[0]) +
                                                    " channels on axis 1");
    }
    const int threads = call.thread_count();
    cache.key.assign(input.data, input.data + input.rank);
    cache.key.push_back(threads);
    TransposedPlan& plan = cache.get([&] {
      return make_plan(shape_.extended({input.data, input.data + input.rank}));
    });
    const sdk::Shape output(plan.output.data(), shape_.rank());
    gantry_tensor& target = call.output(slots_.target, dtype_of(fusion_.target.type()), output);
    if (plan.is_empty) return;
    FusedTensors tensors;
    tensors.source = call.input(slots_.source).data;
    tensors.source_elements = input.element_count();
    tensors.target = target.data;
    tensors.target_elements = output.element_count();
    if (slots_.addend >= 0) {
      if (call.shape(slots_.addend) != output) {
        throw sdk::Error(
            GANTRY_INVALID_ARGUMENT,
            label_ + ": the tensor added to the result has another shape than the result");
      }
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
    return {best_implementation(label_, described), post_ops.addend_argument};
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
    fused.launch = Launch(label_, dnnl::deconvolution_forward(described.primitive),
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
    Dims input;  // extents that the model leaves open are guessed
    for (int i = 0; i < source.rank(); ++i) {
      const int64_t guess = i == 0 ? 1 : i == 1 ? shape_.weights[0] : kGuessedExtent;
      input.push_back(source.extent(i) > 0 ? source.extent(i) : guess);
    }
    input = shape_.extended(input);
    const auto layout = [&] {
      WeightsLayout chosen;
      with_threads(args.threads(), [&] {
        chosen = WeightsLayout::of(describe(input, any(), Variant::kPlain).primitive);
      });
      return chosen;
    };
    constexpr std::array kTags = {Tag::bacd, Tag::bacde};  // of two and three axes
    packed_.pack(args.index.host(), args.choices, layout,
                 {{weight_dims(), fusion_.weights_type(), kTags.at(shape_.spatial_rank() - 2)},
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
  std::string label_;
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
  static constexpr Implementation kAll[] = {{"oneDNN", make_always<ConvTransposeKernel>}};
  return kAll;
}

}  // namespace gantry::x86
