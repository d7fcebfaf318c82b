// SPDX-License-Identifier: Apache-2.0
// Conv (ai.onnx 1, 11, 22) in f32, channels innermost, with what follows it: normalisation and
// scaling by channel folded into the weights, another tensor added and activations applied before
// the result is stored.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <cstring>

#include "constants.h"
#include "epilogue.h"
#include "kernels/kernels.h"
#include "packed_weights.h"
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

  Shape(const GraphIndex& index, uint32_t node) { fault = read(index.node(node)); }
  [[nodiscard]] size_t spatial_rank() const { return weights.size() - 2; }
  [[nodiscard]] int64_t input_channels() const { return weights[1] * groups; }
  [[nodiscard]] int64_t output_channels() const { return weights[0]; }

 private:
  std::string read(const sdk::NodeView& node) {
    if (node.input(0).dtype() != GANTRY_FLOAT) return "only float32 is taken";
    const int rank = node.input(0).rank();
    if (rank < 3 || rank > 5) return "only inputs of rank 3 to 5 are taken";
    if (!is_constant_f32(node.input(1))) return "the weights are not constant";
    if (node.input(1).rank() != rank) return "weights and input differ in rank";
    if (node.input(2).present() && !is_constant_f32(node.input(2)))
      return "the bias is not constant";
    for (int i = 0; i < rank; ++i) weights.push_back(node.input(1).extent(i));
    if (*std::min_element(weights.begin(), weights.end()) < 1) return "the weights are empty";
    window.kernel.assign(weights.begin() + 2, weights.end());
    if (std::string fault = window.read(node, spatial_rank()); !fault.empty()) return fault;
    groups = node.get_int("group", 1);
    const bool fits =
        groups >= 1 && weights[0] % groups == 0 &&
        std::equal(window.kernel.begin(), window.kernel.end(), weights.begin() + 2) &&
        (node.input(0).extent(1) < 0 || node.input(0).extent(1) == input_channels()) &&
        (!node.input(2).present() || element_count(node.input(2)) == output_channels());
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
  ConvKernel(const KernelArgs& args, uint32_t anchor)
      : shape_(args.index, anchor),
        chain_(args.chain(conv_traits(args.index, anchor))),
        source_slot_(static_cast<int>(args.slot_of(args.index.raw(anchor).inputs[0]))),
        label_(args.index.node(anchor).label()) {
    source_is_formatted_ = args.is_input_formatted(static_cast<size_t>(source_slot_));
    const std::vector<uint32_t> outputs = output_slots(args.index, chain_.nodes);
    while (outputs[output_slot_] != chain_.output) ++output_slot_;
    target_is_formatted_ = args.is_output_formatted(output_slot_);
    if (chain_.addend() != GANTRY_NONE) {
      addend_slot_ = static_cast<int>(args.slot_of(chain_.addend()));
      addend_is_formatted_ = args.is_input_formatted(static_cast<size_t>(addend_slot_));
    }
    pack(args.index.host(), args.index.node(anchor), args.threads());
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
    gantry_tensor& target = call.output(static_cast<int>(output_slot_), GANTRY_FLOAT,
                                        {plan.output.data(), static_cast<int>(plan.output.size())});
    if (plan.is_empty) return;
    const void* addend = addend_slot_ >= 0 ? call.input(addend_slot_).data : nullptr;
    if (addend) check_addend(call.shape(addend_slot_), sdk::Shape(target));
    // Where the result is reordered after all, it is not added to what stands in its place.
    const bool in_place = addend && addend == target.data && plan.is_target_inner;
    plan.variants.get(threads, in_place, [&](bool adds_there) { return make(plan, adds_there); })
        .run(call, threads, cache.stream, call.data<float>(source_slot_),
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
    const Epilogue epilogue(chain_.steps, target, in_place);
    Dims dilations = shape_.window.dilations;
    for (int64_t& dilation : dilations) --dilation;  // the library counts the gaps
    const Desc bias = desc_f32({shape_.output_channels()}, Tag::a);
    return {{engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
             source, weights, bias, target, cut(shape_.window.strides), cut(dilations),
             cut(placed.pads_begin), cut(placed.pads_end), attributes(epilogue.ops)},
            epilogue.addend_argument};
  }

  /// A list with an entry for each axis, without that of the last one if the library does not see
  /// it.
  [[nodiscard]] Dims cut(Dims list) const {
    if (is_line_) list.pop_back();
    return list;
  }

  /// Two spatial axes, of which the last has one place in input, window and output. The library
  /// works along the last axis, so such a tensor is shown to it without that.
  [[nodiscard]] bool is_line(const sdk::NodeView& node) const {
    const Window& window = shape_.window;
    return shape_.spatial_rank() == 2 && node.input(0).extent(3) == 1 && window.kernel[1] == 1 &&
           window.strides[1] == 1 && window.pads_begin[1] == 0 && window.pads_end[1] == 0;
  }

  /// The layouts in which the library is fast. A few channels in dense order (an image) need not be
  /// reordered where it reads them so.
  [[nodiscard]] Described choose(const Dims& input, const Dims& output, const Desc& weights,
                                 const Window::Placed& placed, bool in_place) const {
    const Tag last = channels_last(input.size());
    const Desc target = desc_f32(output, last);
    if (!source_is_formatted_ && input[1] < 8) {
      try {
        Described described =
            describe(desc_f32(input, dense(input.size())), weights, target, placed, in_place);
        if (is_fast(described.primitive)) return described;
      } catch (const dnnl::error&) {  // not in this layout
      }
    }
    return describe(desc_f32(input, last), weights, target, placed, in_place);
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
    fused.source = Operand::input(desc_of(cut(plan.input), source_is_formatted_),
                                  described.primitive.src_desc());
    fused.target = Operand::output(desc_of(cut(plan.output), target_is_formatted_),
                                   described.primitive.dst_desc());
    fused.scratchpad = Scratchpad(described.primitive.scratchpad_desc());
    fused.launch = Launch(dnnl::convolution_forward(described.primitive),
                          {{DNNL_ARG_SRC, fused.source.memory()},
                           {DNNL_ARG_WEIGHTS, packed_.in(described.primitive.weights_desc())},
                           {DNNL_ARG_BIAS, bias_},
                           {DNNL_ARG_DST, fused.target.memory()},
                           {DNNL_ARG_SCRATCHPAD, fused.scratchpad.memory()}});
    if (described.addend_argument != 0) {
      fused.addend = Operand::input(desc_of(cut(plan.output), addend_is_formatted_),
                                    described.primitive.dst_desc());
      fused.launch.add(described.addend_argument, fused.addend.memory());
    }
    return fused;
  }

  /// Brings the weights, scaled by channel, into the layout that the library wants of them, and the
  /// bias into one vector.
  void pack(const gantry_host* host, const sdk::NodeView& node, int threads) {
    const Dims& weights = shape_.weights;
    Dims dims = weights;
    if (shape_.groups > 1) {
      dims[0] /= shape_.groups;
      dims.insert(dims.begin(), shape_.groups);
    }
    Dims input;
    for (int i = 0; i < node.input(0).rank(); ++i) {
      const int64_t extent = i == 1 ? shape_.input_channels() : node.input(0).extent(i);
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
    is_line_ = is_line(node);
    dims = cut(dims);
    any_ = desc_f32(dims, Tag::any);
    Desc layout;
    with_threads(threads, [&] {
      layout = choose(cut(input), cut(output), any_, placed, false).primitive.weights_desc();
    });
    const bool is_grouped = dims.size() > cut(weights).size();
    packed_.pack(host, layout,
                 {desc_f32(dims, dense(dims.size())), node.input(1).constant()->data, chain_.scale,
                  is_grouped ? 3 : 1});
    std::vector<float> bias = node.input(2).present()
                                  ? floats_of(node.input(2))
                                  : std::vector<float>(static_cast<size_t>(weights[0]), 0);
    for (size_t o = 0; o < chain_.scale.size(); ++o)
      bias[o] = bias[o] * chain_.scale[o] + chain_.shift[o];
    bias_ = dnnl::memory(desc_f32({weights[0]}, Tag::a), engine());
    std::memcpy(bias_.get_data_handle(), bias.data(), bias.size() * sizeof(float));
  }

  Shape shape_;
  Chain chain_;
  int source_slot_;
  std::string label_;
  int addend_slot_ = -1;
  size_t output_slot_ = 0;
  bool source_is_formatted_ = false;
  bool addend_is_formatted_ = false;
  bool target_is_formatted_ = false;
  bool is_line_ = false;
  Desc any_;  // of the weights
  PackedWeights packed_;
  dnnl::memory bias_;
};

}  // namespace

std::string conv_refusal(const GraphIndex& index, uint32_t node) {
  return Shape(index, node).fault;
}

AnchorTraits conv_traits(const GraphIndex& index, uint32_t node) {
  const sdk::NodeView view = index.node(node);
  return {view.input(1).rank(), 1, view.input(1).extent(0)};
}

std::unique_ptr<sdk::Kernel> make_conv(const KernelArgs& args) {
  return std::make_unique<ConvKernel>(args, args.nodes[0]);
}

}  // namespace gantry::onednn
