// SPDX-License-Identifier: Apache-2.0
// Conv (ai.onnx 1, 11, 22) in f32 or 8 bits and QLinearConv (10), channels innermost, with what
// follows it: normalisation and scaling by channel folded into the weights, another tensor added
// and activations applied before the result is stored.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <cstring>

#include "constants.h"
#include "epilogue.h"
#include "kernels/kernels.h"
#include "packed_weights.h"
#include "rescaling.h"
#include "window.h"

namespace gantry::onednn {
namespace {

constexpr int64_t kGuessedExtent = 56;  // of an axis that is not known before the run

/// The node's attributes and the extents of its weights [O, I / groups, kernel...].
struct Shape {
  Window window;
  int64_t groups = 1;
  Dims weights;
  std::string fault;  // why it is not taken

  Shape(const GraphIndex& index, const Unit& unit) {
    fault = read(index, unit);
    if (!fault.empty()) return;
    if (!has_constant_weights(index, unit)) fault = "the weights are not constant";
    if (!bias_of(index, unit, output_channels())) fault = "the bias is not constant";
  }
  [[nodiscard]] size_t spatial_rank() const { return weights.size() - 2; }
  [[nodiscard]] int64_t input_channels() const { return weights[1] * groups; }
  [[nodiscard]] int64_t output_channels() const { return weights[0]; }

 private:
  std::string read(const GraphIndex& index, const Unit& unit) {
    const sdk::NodeView node = index.node(unit.anchor);
    if (node.op_type() == "QLinearConv" && !unit.is_quantized())
      return "its scales and zero points are not constant";
    const sdk::ValueView source = index.value(unit.sources[0].value);
    const sdk::ValueView constant = index.value(unit.weights);
    if (!unit.is_quantized() && source.dtype() != GANTRY_FLOAT) return "only float32 is taken";
    const int rank = source.rank();
    if (rank < 3 || rank > 5) return "only inputs of rank 3 to 5 are taken";
    if (constant.rank() != rank) return "weights and input differ in rank";
    for (int i = 0; i < rank; ++i) weights.push_back(constant.extent(i));
    if (*std::min_element(weights.begin(), weights.end()) < 1) return "the weights are empty";
    window.kernel.assign(weights.begin() + 2, weights.end());
    if (std::string fault = window.read(node, spatial_rank()); !fault.empty()) return fault;
    groups = node.get_int("group", 1);
    const sdk::ValueView bias = index.value(unit.bias);
    const bool fits = groups >= 1 && weights[0] % groups == 0 &&
                      std::equal(window.kernel.begin(), window.kernel.end(), weights.begin() + 2) &&
                      (source.extent(1) < 0 || source.extent(1) == input_channels()) &&
                      (bias.rank() != 1 || bias.extent(0) == output_channels());
    return fits ? std::string() : "its shapes do not fit each other";
  }
};

/// One shape of input and number of threads.
struct Plan {
  Dims input;
  Dims output;
  Window::Placed placed;
  bool is_empty = false;
  bool is_target_inner = false;  ///< the library writes the output as it leaves
  FusedVariants variants;
};

class ConvKernel final : public sdk::Kernel {
 public:
  explicit ConvKernel(const KernelArgs& args)
      : shape_(args.index, args.unit),
        unit_(args.unit),
        source_slot_(static_cast<int>(args.slot_of(unit_.sources[0].value))),
        label_(args.index.node(unit_.anchor).label()),
        output_slot_(args.output_slot()),
        rescaling_(unit_, shape_.groups > 1 ? 3 : 1) {
    source_is_formatted_ = args.is_input_formatted(static_cast<size_t>(source_slot_));
    target_is_formatted_ = args.is_output_formatted(output_slot_);
    if (unit_.addend.value != GANTRY_NONE) {
      addend_slot_ = static_cast<int>(args.slot_of(unit_.addend.value));
      addend_is_formatted_ = args.is_input_formatted(static_cast<size_t>(addend_slot_));
    }
    pack(args.index, args.threads());
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<Plan>>();
  }

  void run(sdk::Call& call) const override {
    auto& cache = static_cast<PlanCache<Plan>&>(*call.context());
    const sdk::Shape input = call.shape(source_slot_);
    check(input);
    const int threads = call.thread_count();
    cache.key.assign(input.data, input.data + input.rank);
    cache.key.push_back(threads);
    Plan& plan = cache.get([&] { return make_plan({input.data, input.data + input.rank}); });
    gantry_tensor& target =
        call.output(static_cast<int>(output_slot_), dtype_of(unit_.target.type()),
                    {plan.output.data(), static_cast<int>(plan.output.size())});
    if (plan.is_empty) return;
    const void* addend = addend_slot_ >= 0 ? call.input(addend_slot_).data : nullptr;
    if (addend) check_addend(call.shape(addend_slot_), sdk::Shape(target));
    // Where the result is reordered after all, it is not added to what stands in its place.
    const bool in_place = addend && addend == target.data && plan.is_target_inner;
    plan.variants.get(threads, in_place, [&](bool adds_there) { return make(plan, adds_there); })
        .run(call, threads, cache.stream, call.input(source_slot_).data,
             in_place ? nullptr : addend, target.data);
  }

 private:
  void check(const sdk::Shape& input) const {
    if (input.rank == static_cast<int>(shape_.weights.size()) &&
        input[1] == shape_.input_channels())
      return;
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     label_ + ": the input was expected to have " +
                         std::to_string(shape_.input_channels()) + " channels on axis 1 and rank " +
                         std::to_string(shape_.weights.size()) + ", and has " +
                         (input.rank > 1 ? std::to_string(input[1]) : "no axis 1") + " and rank " +
                         std::to_string(input.rank));
  }

  void check_addend(const sdk::Shape& addend, const sdk::Shape& output) const {
    if (addend == output) return;
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     label_ + ": the tensor added to the result has another shape than the result");
  }

  struct Described {
    dnnl::convolution_forward::primitive_desc primitive;
    int addend_argument = 0;
  };

  /// `source` and `target`: layouts as the primitive is to see them.
  [[nodiscard]] Described describe(const Desc& source, const Desc& weights, const Desc& target,
                                   const Window::Placed& placed, bool in_place) const {
    const Epilogue epilogue(unit_, addend_desc(target.get_dims()), in_place);
    dnnl::primitive_attr attr = attributes(epilogue.ops);
    rescaling_.describe(attr);
    Dims dilations = shape_.window.dilations;
    for (int64_t& dilation : dilations) --dilation;  // the library counts the gaps
    const Desc bias = desc_f32({shape_.output_channels()}, Tag::a);
    return {{engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
             source, weights, bias, target, cut(shape_.window.strides), cut(dilations),
             cut(placed.pads_begin), cut(placed.pads_end), attr},
            epilogue.addend_argument};
  }

  [[nodiscard]] Desc addend_desc(const Dims& seen) const {
    return {seen, unit_.addend.type(), channels_last(seen.size())};
  }

  /// A list with an entry for each axis, without that of the last one if the library does not see
  /// it.
  [[nodiscard]] Dims cut(Dims list) const {
    if (is_line_) list.pop_back();
    return list;
  }

  /// Two spatial axes, of which the last has one place in input, window and output. The library
  /// works along the last axis, so such a tensor is shown to it without that.
  [[nodiscard]] bool is_line(const sdk::ValueView& source) const {
    const Window& window = shape_.window;
    return shape_.spatial_rank() == 2 && source.extent(3) == 1 && window.kernel[1] == 1 &&
           window.strides[1] == 1 && window.pads_begin[1] == 0 && window.pads_end[1] == 0;
  }

  /// The layouts in which the library is fast. A few channels in dense order (an image) need not be
  /// reordered where it reads them so.
  [[nodiscard]] Described choose(const Dims& input, const Dims& output, const Desc& weights,
                                 const Window::Placed& placed, bool in_place) const {
    const Tag last = channels_last(input.size());
    const Type type = unit_.sources[0].type();
    const Desc target(output, unit_.target.type(), last);
    if (!source_is_formatted_ && input[1] < 8) {
      try {
        Described described =
            describe({input, type, dense(input.size())}, weights, target, placed, in_place);
        if (is_fast(described.primitive)) return described;
      } catch (const dnnl::error&) {  // not in this layout
      }
    }
    return describe({input, type, last}, weights, target, placed, in_place);
  }

  [[nodiscard]] Dims output_of(const Dims& input, const Window::Placed& placed) const {
    Dims output = {input[0], shape_.output_channels()};
    output.insert(output.end(), placed.output.begin(), placed.output.end());
    return output;
  }

  [[nodiscard]] Plan make_plan(const Dims& input) const {
    Plan plan;
    plan.input = input;
    plan.placed = shape_.window.place({input.begin() + 2, input.end()});
    plan.output = output_of(input, plan.placed);
    for (int64_t& extent : plan.output) extent = std::max<int64_t>(extent, 0);
    plan.is_empty = *std::min_element(plan.output.begin(), plan.output.end()) == 0;
    const Dims seen = cut(plan.output);
    plan.is_target_inner =
        desc_of(seen, target_is_formatted_) == desc_f32(seen, channels_last(seen.size()));
    return plan;
  }

  [[nodiscard]] FusedPrimitive make(const Plan& plan, bool in_place) const {
    const Described described = describe_with(packed_, any_, [&](const Desc& weights) {
      return choose(cut(plan.input), cut(plan.output), weights, plan.placed, in_place);
    });
    FusedPrimitive fused;
    fused.source =
        Operand::input(desc_of(cut(plan.input), source_is_formatted_, unit_.sources[0].type()),
                       described.primitive.src_desc());
    fused.target =
        Operand::output(desc_of(cut(plan.output), target_is_formatted_, unit_.target.type()),
                        described.primitive.dst_desc());
    fused.scratchpad = Scratchpad(described.primitive.scratchpad_desc());
    fused.launch = Launch(dnnl::convolution_forward(described.primitive),
                          {{DNNL_ARG_SRC, fused.source.memory()},
                           {DNNL_ARG_WEIGHTS, packed_.in(described.primitive.weights_desc())},
                           {DNNL_ARG_BIAS, bias_},
                           {DNNL_ARG_DST, fused.target.memory()},
                           {DNNL_ARG_SCRATCHPAD, fused.scratchpad.memory()}});
    rescaling_.bind(fused.launch);
    if (described.addend_argument != 0) {
      const Dims seen = cut(plan.output);
      fused.addend = Operand::input(desc_of(seen, addend_is_formatted_, unit_.addend.type()),
                                    addend_desc(seen));
      fused.launch.add(described.addend_argument, fused.addend.memory());
    }
    return fused;
  }

  /// Brings the weights, scaled by channel, into the layout that the library wants of them, and the
  /// bias into one vector.
  void pack(const GraphIndex& index, int threads) {
    const sdk::ValueView source = index.value(unit_.sources[0].value);
    const Dims& weights = shape_.weights;
    Dims dims = weights;
    if (shape_.groups > 1) {
      dims[0] /= shape_.groups;
      dims.insert(dims.begin(), shape_.groups);
    }
    Dims input;
    for (int i = 0; i < source.rank(); ++i) {
      const int64_t extent = i == 1 ? shape_.input_channels() : source.extent(i);
      input.push_back(extent > 0 ? extent : i == 0 ? 1 : kGuessedExtent);
    }
    Window::Placed placed = shape_.window.place({input.begin() + 2, input.end()});
    Dims output = output_of(input, placed);
    if (*std::min_element(output.begin(), output.end()) < 1) {  // the guess was too small
      for (size_t i = 2; i < input.size(); ++i)
        input[i] = std::max(input[i], shape_.window.kernel[i - 2] * shape_.window.dilations[i - 2]);
      placed = shape_.window.place({input.begin() + 2, input.end()});
      output = output_of(input, placed);
    }
    is_line_ = is_line(source);
    dims = cut(dims);
    const Type type = unit_.weight_quantization ? Type::s8 : Type::f32;
    any_ = {dims, type, Tag::any};
    Desc layout;
    with_threads(threads, [&] {
      layout = choose(cut(input), cut(output), any_, placed, false).primitive.weights_desc();
    });
    const bool is_grouped = dims.size() > cut(weights).size();
    packed_.pack(index.host(), layout,
                 {{dims, type, dense(dims.size())},
                  index.value(unit_.weights).constant()->data,
                  unit_.chain.scale,
                  is_grouped ? 3 : 1,
                  weight_offset(unit_)});
    std::vector<float> bias = *bias_of(index, unit_, weights[0]);
    for (size_t o = 0; o < unit_.chain.scale.size(); ++o)
      bias[o] = bias[o] * unit_.chain.scale[o] + unit_.chain.shift[o];
    bias_ = dnnl::memory(desc_f32({weights[0]}, Tag::a), engine());
    std::memcpy(bias_.get_data_handle(), bias.data(), bias.size() * sizeof(float));
  }

  Shape shape_;
  Unit unit_;
  int source_slot_;
  std::string label_;
  size_t output_slot_;
  Rescaling rescaling_;
  int addend_slot_ = -1;
  bool source_is_formatted_ = false;
  bool addend_is_formatted_ = false;
  bool target_is_formatted_ = false;
  bool is_line_ = false;
  Desc any_;  // of the weights
  PackedWeights packed_;
  dnnl::memory bias_;
};

}  // namespace

std::string conv_refusal(const GraphIndex& index, const Unit& unit) {
  return Shape(index, unit).fault;
}

AnchorTraits conv_traits(const GraphIndex& index, uint32_t node) {
  const sdk::NodeView view = index.node(node);
  const bool has_weights = view.input(1).rank() > 2;
  AnchorTraits traits{view.input(0).rank(), 1, has_weights ? view.input(1).extent(0) : 0};
  traits.is_linear = view.op_type() == "QLinearConv";
  traits.weights_axis = 0;
  return traits;
}

std::unique_ptr<sdk::Kernel> make_conv(const KernelArgs& args) {
  return std::make_unique<ConvKernel>(args);
}

}  // namespace gantry::onednn
