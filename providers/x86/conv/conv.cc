// SPDX-License-Identifier: Apache-2.0
// Conv (ai.onnx 1, 11, 22) in f32 or int8 and QLinearConv (10) by oneDNN, channels-last, and the
// list of Conv implementations. Of the epilogue, normalisation and scaling by channel are folded
// into f32 weights; additions and activations are post-ops.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "conv/conv_shape.h"
#include "conv/implementations.h"
#include "fuse/kernels.h"
#include "fuse/match_epilogue.h"
#include "int8/widened_layer.h"
#include "onednn/background.h"
#include "onednn/packed_weights.h"
#include "onednn/post_ops.h"
#include "onednn/scales.h"

namespace gantry::x86 {
namespace {

/// The plan for an input shape and a number of threads.
struct LibraryPlan {
  Dims input;
  Dims output;
  Window::Placed placed;
  bool is_empty = false;
  bool is_target_inner = false;  ///< oneDNN writes the output without a reorder
  FusedVariants variants;
};

class ConvKernel final : public sdk::Kernel {
 public:
  explicit ConvKernel(const KernelArgs& args)
      : shape_(args.index, args.fusion),
        fusion_(args.fusion),
        slots_(args),
        rescaling_(fusion_, shape_.groups > 1 ? 3 : 1) {
    pack(args);
    prepare(args);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<LibraryPlan>>();
  }

  void run(sdk::Call& call) const override {
    auto& cache = static_cast<PlanCache<LibraryPlan>&>(*call.context());
    const sdk::Shape input = call.shape(slots_.source);
    shape_.check_input(input);
    const int threads = call.thread_count();
    cache.key.assign(input.data, input.data + input.rank);
    cache.key.push_back(threads);
    LibraryPlan& plan = cache.get([&] { return make_plan({input.data, input.data + input.rank}); });
    gantry_tensor& target = call.output(slots_.target, dtype_of(fusion_.target.type()),
                                        {plan.output.data(), static_cast<int>(plan.output.size())});
    if (plan.is_empty) return;
    FusedTensors tensors;
    tensors.source = call.input(slots_.source).data;
    tensors.source_elements = input.element_count();
    tensors.target = target.data;
    tensors.target_elements = sdk::Shape(target).element_count();
    if (slots_.addend >= 0) {
      shape_.check_addend(call.shape(slots_.addend), sdk::Shape(target));
      tensors.addend = call.input(slots_.addend).data;
    }
    tensors.is_target_inner = plan.is_target_inner;
    plan.variants.run(call, cache.stream, tensors, own_epilogue_,
                      [&](Variant variant) { return make(plan, threads, variant); });
  }

 private:
  struct Described {
    dnnl::convolution_forward::primitive_desc primitive;
    int addend_argument = 0;
  };

  /// oneDNN's primitive descriptor for the expected input shape. Making one takes as long as making
  /// the primitive.
  struct Likely {
    Dims input;
    int threads = 0;
    Described described;
  };

  /// `source`, `weights`, `target`: the layouts of the primitive's operands.
  [[nodiscard]] Described describe(const Desc& source, const Desc& weights, const Desc& target,
                                   const Window::Placed& placed, Variant variant) const {
    const PostOps post_ops(fusion_, addend_desc(target.get_dims()), variant);
    dnnl::primitive_attr attr = attributes(post_ops.ops);
    rescaling_.describe(attr);
    Dims dilations = shape_.window.dilations;
    for (int64_t& dilation : dilations) --dilation;  // oneDNN's dilation is ONNX's - 1
    const Desc bias = desc_f32({shape_.output_channels()}, Tag::a);
    const auto described = [&] {
      return dnnl::convolution_forward::primitive_desc(
          engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, source,
          weights, bias, target, cut(shape_.window.strides), cut(dilations), cut(placed.pads_begin),
          cut(placed.pads_end), attr);
    };
    const auto is_usable = [&](const auto& primitive) { return !is_wrong(primitive, placed); };
    return {best_implementation(shape_.label, described, is_usable), post_ops.addend_argument};
  }

  /// True of oneDNN's AMX code for 3-D convolutions with a zero point and padding on the depth
  /// axis: its zero-point compensation there reads beyond the table.
  [[nodiscard]] bool is_wrong(const dnnl::convolution_forward::primitive_desc& primitive,
                              const Window::Placed& placed) const {
    const bool is_padded = placed.pads_begin[0] > 0 || placed.pads_end[0] > 0;
    return shape_.spatial_rank() == 3 && is_padded && rescaling_.has_source_zero_point() &&
           std::string_view(primitive.impl_info_str()) == "jit:avx512_core_amx";
  }

  [[nodiscard]] Desc addend_desc(const Dims& seen) const {
    return {seen, fusion_.addend.type(), channels_last(seen.size())};
  }

  /// A list with an entry for each axis, without the last one if is_line_.
  [[nodiscard]] Dims cut(Dims list) const {
    if (is_line_) list.pop_back();
    return list;
  }

  /// True of a 2-D convolution whose width is 1 in input, window and output. oneDNN vectorises
  /// along the last axis, so it gets the 1-D convolution instead.
  [[nodiscard]] bool is_line(const sdk::ValueView& source) const {
    const Window& window = shape_.window;
    return shape_.spatial_rank() == 2 && source.extent(3) == 1 && window.kernel[1] == 1 &&
           window.strides[1] == 1 && window.pads_begin[1] == 0 && window.pads_end[1] == 0;
  }

  /// The layouts in which oneDNN is fast: channels-last, but NCHW for a source of fewer than 8
  /// channels if it has fast code that reads that without a reorder.
  [[nodiscard]] Described choose(const Dims& input, const Dims& output, const Desc& weights,
                                 const Window::Placed& placed, Variant variant) const {
    const Tag last = channels_last(input.size());
    const Type type = fusion_.source_type();
    const Desc target(output, fusion_.target.type(), last);
    if (!slots_.source_is_formatted && input[1] < 8) {
      try {
        Described described =
            describe({input, type, dense(input.size())}, weights, target, placed, variant);
        if (is_fast(described.primitive)) return described;
      } catch (const dnnl::error&) {  // not in this layout
      }
    }
    return describe({input, type, last}, weights, target, placed, variant);
  }

  [[nodiscard]] LibraryPlan make_plan(const Dims& input) const {
    LibraryPlan plan;
    plan.input = input;
    plan.placed = shape_.window.place({input.begin() + 2, input.end()});
    plan.output = shape_.output_of(input, plan.placed);
    for (int64_t& extent : plan.output) extent = std::max<int64_t>(extent, 0);
    plan.is_empty = *std::min_element(plan.output.begin(), plan.output.end()) == 0;
    const Dims seen = cut(plan.output);
    plan.is_target_inner =
        desc_of(seen, slots_.target_is_formatted) == desc_f32(seen, channels_last(seen.size()));
    return plan;
  }

  /// The descriptor that the weights were packed for, or a new one. A new one is made if the first
  /// is slow: given the weights' layout, oneDNN may find a faster implementation. So results do not
  /// depend on whether the layout came from the compiled-model cache.
  [[nodiscard]] Described described_for(const LibraryPlan& plan, int threads,
                                        Variant variant) const {
    if (likely_ && variant == Variant::kPlain && likely_->threads == threads &&
        likely_->input == plan.input && is_fast(likely_->described.primitive) &&
        likely_->described.primitive.weights_desc() == packed_.desc())
      return likely_->described;
    return describe_with(packed_, any_, [&](const Desc& weights) {
      return choose(cut(plan.input), cut(plan.output), weights, plan.placed, variant);
    });
  }

  static std::vector<int64_t> key_of(const LibraryPlan& plan, int threads, Variant variant) {
    std::vector<int64_t> key = plan.input;
    key.insert(key.end(), {threads, static_cast<int64_t>(variant)});
    return key;
  }

  /// Starts compiling the primitive for the first run in the background, if the shape is static.
  void prepare(const KernelArgs& args) {
    const sdk::ValueView source = args.index.value(fusion_.sources[0].value);
    const Dims input = shape_.likely_input(source);
    for (int i = 0; i < source.rank(); ++i) {
      if (source.extent(i) != input[static_cast<size_t>(i)]) return;
    }
    const LibraryPlan plan = make_plan(input);
    if (plan.is_empty) return;
    const int threads = args.threads();
    const bool in_place = plan.is_target_inner && may_replace_addend(args.index, fusion_);
    const Variant variant = in_place ? Variant::kInPlace : Variant::kPlain;
    prepared_.start(key_of(plan, threads, variant), threads,
                    [this, plan, threads, variant] { return make_new(plan, threads, variant); });
  }

  [[nodiscard]] FusedPrimitive make(const LibraryPlan& plan, int threads, Variant variant) const {
    std::optional<FusedPrimitive> made = prepared_.take(key_of(plan, threads, variant));
    return made ? std::move(*made) : make_new(plan, threads, variant);
  }

  [[nodiscard]] FusedPrimitive make_new(const LibraryPlan& plan, int threads,
                                        Variant variant) const {
    const Described described = described_for(plan, threads, variant);
    FusedPrimitive fused;
    fused.source = Operand::input(
        desc_of(cut(plan.input), slots_.source_is_formatted, fusion_.sources[0].type()),
        described.primitive.src_desc());
    fused.target = Operand::output(
        desc_of(cut(plan.output), slots_.target_is_formatted, fusion_.target.type()),
        described.primitive.dst_desc());
    fused.scratchpad = Scratchpad(described.primitive.scratchpad_desc());
    fused.launch = Launch(shape_.label, dnnl::convolution_forward(described.primitive),
                          {{DNNL_ARG_SRC, fused.source.memory()},
                           {DNNL_ARG_WEIGHTS, packed_.in(WeightsLayout::of(described.primitive))},
                           {DNNL_ARG_BIAS, bias_},
                           {DNNL_ARG_DST, fused.target.memory()},
                           {DNNL_ARG_SCRATCHPAD, fused.scratchpad.memory()}});
    rescaling_.bind(fused.launch);
    if (fusion_.addend.value != GANTRY_NONE && variant != Variant::kInPlace) {
      const Dims seen = cut(plan.output);
      fused.addend = Operand::input(
          desc_of(seen, slots_.addend_is_formatted, fusion_.addend.type()), addend_desc(seen));
      if (described.addend_argument != 0)
        fused.launch.add(described.addend_argument, fused.addend.memory());
    }
    return fused;
  }

  /// Packs the weights, scaled by channel, into oneDNN's layout, and folds the bias.
  void pack(const KernelArgs& args) {
    const GraphIndex& index = args.index;
    const sdk::ValueView source = index.value(fusion_.sources[0].value);
    const Dims& weights = shape_.weights;
    Dims dims = weights;
    if (shape_.groups > 1) {
      dims[0] /= shape_.groups;
      dims.insert(dims.begin(), shape_.groups);
    }
    const Dims input = shape_.likely_input(source);
    const Window::Placed placed = shape_.window.place({input.begin() + 2, input.end()});
    const Dims output = shape_.output_of(input, placed);
    is_line_ = is_line(source);
    dims = cut(dims);
    const Type plain = fusion_.weight_quantization ? Type::s8 : Type::f32;
    any_ = {dims, fusion_.weights_type(), Tag::any};
    const auto layout = [&] {
      const int threads = args.threads();
      with_threads(threads, [&] {
        likely_ = {input, threads, choose(cut(input), cut(output), any_, placed, Variant::kPlain)};
      });
      // The host then tries a smaller fusion, or another provider.
      if (code_kind(likely_->described.primitive) == CodeKind::kReference) {
        report_passed_over(shape_.label, likely_->described.primitive,
                           "a smaller fusion or by another provider");
        throw sdk::Error(GANTRY_UNSUPPORTED,
                         shape_.label + ": oneDNN has only reference code for it on this CPU");
      }
      return WeightsLayout::of(likely_->described.primitive);
    };
    const bool is_grouped = dims.size() > cut(weights).size();
    packed_.pack(index.host(), args.choices, layout,
                 {{dims, plain, dense(dims.size())},
                  index.value(fusion_.weights).constant()->data,
                  fusion_.epilogue.scale,
                  is_grouped ? 3 : 1,
                  weight_offset(fusion_),
                  fusion_.is_quantized() ? fusion_.sources[0].quantization->type : Type::undef,
                  rescaling_.has_source_zero_point()});
    const std::vector<float> bias = rescaling_.bias_of(folded_bias(index, fusion_, weights[0]));
    bias_ = dnnl::memory(desc_f32({weights[0]}, Tag::a), engine());
    std::memcpy(bias_.get_data_handle(), bias.data(), bias.size() * sizeof(float));
    own_epilogue_.set(fusion_, bias, [this] { return packed_.in(WeightsLayout(packed_.desc())); });
  }

  ConvShape shape_;
  Fusion fusion_;
  ConvSlots slots_;
  Rescaling rescaling_;
  bool is_line_ = false;
  Desc any_;                      // of the weights
  std::optional<Likely> likely_;  // none: the layout came from the compiled-model cache
  PackedWeights packed_;
  dnnl::memory bias_;
  OwnEpilogue own_epilogue_;
  Prepared<FusedPrimitive> prepared_;  // last
};

}  // namespace

std::string conv_refusal(const GraphIndex& index, const Fusion& fusion) {
  const ConvShape shape(index, fusion);
  if (!shape.fault.empty() || !fusion.is_quantized()) return shape.fault;
  // oneDNN's compensation for blocks of eight such groups is wrong.
  const bool is_depthwise = shape.groups > 1 && shape.weights[0] == shape.groups;
  if (is_depthwise && shape.weights[1] == 1 && shape.spatial_rank() == 3 &&
      is_library_exact(shape.products()))
    return "the library packs int8 weights of one channel for each group and three axes wrong";
  return inexactness_of(fusion, shape.products());
}

std::unique_ptr<Fusion> match_conv(const MatchScope& scope, uint32_t root) {
  const GraphIndex& index = scope.index();
  const sdk::NodeView view = index.node(root);
  const bool has_weights = view.input(1).rank() > 2;
  RootTraits traits{view.input(0).rank(), 1, has_weights ? view.input(1).extent(0) : 0};
  traits.is_linear = view.op_type() == "QLinearConv";
  traits.weights_axis = 0;
  auto fusion = match_epilogue(scope, root, traits);
  if (is_depthwise_here(index, *fusion)) fuse_channel_shuffle(index, *fusion, scope.predicate());
  return fusion;
}

std::span<const Implementation> conv_implementations(const Fusion& fusion) {
  static constexpr Implementation kFloat[] = {{"nchw", make_nchw_conv},
                                              {"winograd", make_winograd_conv},
                                              {"direct", make_direct_conv},
                                              {"1x1", make_conv_1x1},
                                              {"implicit gemm", make_implicit_gemm_conv},
                                              {"oneDNN", make_always<ConvKernel>}};
  static constexpr Implementation kInt8[] = {{"int8 widened to int16", make_int8_widened_conv},
                                             {"int8 amx", make_int8_amx_conv},
                                             {"int8 vnni", make_int8_vnni_conv},
                                             {"int8 avx_vnni", make_int8_avx_vnni_conv},
                                             {"oneDNN", make_always<ConvKernel>}};
  if (fusion.is_quantized()) return kInt8;
  return kFloat;
}

}  // namespace gantry::x86
