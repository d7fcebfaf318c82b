// SPDX-License-Identifier: Apache-2.0
// LSTM and RNN (ai.onnx 1, 7, 14, 22) and GRU (3, 7, 14, 22) of f32 with constant weights and
// default activations. The input projection of all steps is one oneDNN matmul; the steps are
// recurrent/code.h. Threads divide directions and sequences of the batch or, if there are too few
// of these, the hidden units of each step.
#include <algorithm>

#include "fuse/constants.h"
#include "fuse/kernels.h"
#include "onednn/packed_weights.h"
#include "onednn/plan.h"
#include "recurrent/code.h"
#include "recurrent/layer.h"
#include "recurrent/weights.h"

namespace gantry::x86 {
namespace {

/// The cell of a node; for a GRU with linear_before_reset = 0, the first half of its step.
CellKind kind_of(const sdk::NodeView& node) {
  if (node.op_type() == "LSTM") return CellKind::kLstm;
  if (node.op_type() == "RNN") return CellKind::kRnn;
  return node.get_int("linear_before_reset", 0) != 0 ? CellKind::kGru : CellKind::kGruGates;
}

LayerForm form_of(const sdk::NodeView& node) {
  const CellKind kind = kind_of(node);
  LayerForm form(kind, kind == CellKind::kGruGates ? gates_of(CellKind::kGru) : gates_of(kind),
                 node);
  form.input = node.input(kLayerW).extent(2);
  form.hidden = node.input(kLayerR).extent(2);
  form.projected = ProjectedLayout::by_gates(form.gates, form.hidden);
  return form;
}

bool has_two_steps(const LayerForm& form) { return form.kind == CellKind::kGruGates; }

class RecurrentKernel final : public RecurrentLayer {
 public:
  explicit RecurrentKernel(const KernelArgs& args)
      : RecurrentLayer(form_of(args.index.node(args.fusion.root)), LayerParting(),
                       args.index.node(args.fusion.root).label()) {
    pack(args);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<FusedVariants>>();
  }

 private:
  // Input projection.

  [[nodiscard]] dnnl::matmul::primitive_desc describe(int64_t rows, const Desc& weights) const {
    const int64_t columns = form().directions * form().width();
    return {engine(),
            desc_f32({rows, form().input}, Tag::ab),
            weights,
            desc_f32({1, columns}, Tag::ab),
            desc_f32({rows, columns}, Tag::ab),
            attributes()};
  }

  /// projected: [rows of the input, directions, gates, hidden].
  void project(sdk::Call& call, int64_t rows, float* projected) const override {
    struct Described {
      dnnl::matmul::primitive_desc primitive;
    };
    auto& cache = static_cast<PlanCache<FusedVariants>&>(*call.context());
    const int threads = call.thread_count();
    cache.key.assign({rows, threads});
    const auto make = [&](Variant) {
      const auto primitive = describe_with(packed_, any_, [&](const Desc& weights) {
                               return Described{describe(rows, weights)};
                             }).primitive;
      FusedPrimitive made;
      made.source = Operand::input(primitive.src_desc(), primitive.src_desc());
      made.target = Operand::output(primitive.dst_desc(), primitive.dst_desc());
      made.scratchpad = Scratchpad(primitive.scratchpad_desc());
      made.launch = Launch(label(), dnnl::matmul(primitive),
                           {{DNNL_ARG_SRC, made.source.memory()},
                            {DNNL_ARG_WEIGHTS, packed_.in(WeightsLayout(primitive.weights_desc()))},
                            {DNNL_ARG_BIAS, bias_},
                            {DNNL_ARG_DST, made.target.memory()},
                            {DNNL_ARG_SCRATCHPAD, made.scratchpad.memory()}});
      return made;
    };
    cache.get([] { return FusedVariants(); })
        .run(call, cache.stream, {.source = call.input(kLayerX).data, .target = projected},
             OwnEpilogue(), make);
  }

  void run_step(sdk::Call& call, RecurrentStep& step, int64_t direction, int threads,
                std::byte*) const override {
    step.weights = weights_.of_direction(direction);
    step.bias = inner_bias_.empty() ? nullptr : inner_bias_.data() + direction * form().hidden;
    run_units(call, step, threads);
    if (!has_two_steps(form())) return;
    RecurrentStep rest = step;
    rest.kind = CellKind::kGruRest;
    rest.weights = rest_.of_direction(direction);
    run_units(call, rest, threads);
  }

  static void run_units(sdk::Call& call, const RecurrentStep& step, int threads) {
    const int64_t blocks = unit_blocks_of(step.hidden);
    call.parallel_for(blocks, (blocks + threads - 1) / threads, [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      x86::run_step(step, begin, end);
    });
  }

  // When the claim is compiled.

  void pack(const KernelArgs& args) {
    const GraphIndex& index = args.index;
    const sdk::NodeView node = index.node(args.fusion.root);
    const int64_t columns = form().directions * form().width();
    const sdk::ValueView x = node.input(kLayerX);
    constexpr int64_t kGuessedRows = 64;
    int64_t rows = kGuessedRows;
    if (x.extent(0) > 0 && x.extent(1) > 0) rows = x.extent(0) * x.extent(1);
    any_ = {{form().input, columns}, Type::f32, Tag::any};
    const auto layout = [&] {
      Desc chosen;
      with_threads(args.threads(), [&] { chosen = describe(rows, any_).weights_desc(); });
      return WeightsLayout(chosen);
    };
    packed_.pack(
        index.host(), args.choices, layout,
        {desc_f32({form().input, columns}, Tag::ba), node.input(kLayerW).constant()->data, {}});
    const void* recurrent = node.input(kLayerR).constant()->data;
    weights_.pack(index.host(), args.choices, form().kind, form().directions, form().hidden,
                  recurrent);
    if (has_two_steps(form())) {
      rest_.pack(index.host(), args.choices, CellKind::kGruRest, form().directions, form().hidden,
                 recurrent);
    }
    set_bias(node);
  }

  // Both biases are part of the input projection, except the recurrent bias that a GRU's reset gate
  // multiplies.
  void set_bias(const sdk::NodeView& node) {
    const int64_t width = form().width();
    bias_ = dnnl::memory(desc_f32({1, form().directions * width}, Tag::ab), engine());
    auto* sums = static_cast<float*>(bias_.get_data_handle());
    std::fill_n(sums, form().directions * width, 0.0F);
    if (!node.input(kLayerB).present()) return;
    const std::vector<float> bias = floats_of(node.input(kLayerB));
    const int64_t at_once = form().kind == CellKind::kGru ? 2 * form().hidden : width;
    for (int64_t d = 0; d < form().directions; ++d) {
      const float* of_input = bias.data() + d * 2 * width;
      const float* of_state = of_input + width;
      for (int64_t i = 0; i < width; ++i)
        sums[d * width + i] = of_input[i] + (i < at_once ? of_state[i] : 0.0F);
      inner_bias_.insert(inner_bias_.end(), of_state + at_once, of_state + width);
    }
  }

  Desc any_;  // of the input's weights
  PackedWeights packed_;
  dnnl::memory bias_;
  std::vector<float> inner_bias_;  // [directions, hidden]: RecurrentStep::bias of a GRU
  RecurrentWeights weights_;
  RecurrentWeights rest_;  // of kGruRest
};

}  // namespace

std::string recurrent_refusal(const GraphIndex& index, const Fusion& fusion) {
  const sdk::NodeView node = index.node(fusion.root);
  if (node.input(kLayerX).dtype() != GANTRY_FLOAT || node.input(kLayerX).rank() != 3)
    return "only float32 of rank 3 is taken";
  const sdk::ValueView w = node.input(kLayerW);
  const sdk::ValueView r = node.input(kLayerR);
  if (!is_constant_f32(w) || !is_constant_f32(r) || w.rank() != 3 || r.rank() != 3)
    return "its weights are not constant";
  if (node.input(kLayerB).present() && !is_constant_f32(node.input(kLayerB)))
    return "its biases are not constant";
  std::string reason = layer_refusal(node, node.op_type());
  if (!reason.empty()) return reason;
  const LayerForm form = form_of(node);
  const bool fits = has_shape(w, {form.directions, form.width(), form.input}) &&
                    has_shape(r, {form.directions, form.width(), form.hidden}) &&
                    (!node.input(kLayerB).present() ||
                     has_shape(node.input(kLayerB), {form.directions, 2 * form.width()})) &&
                    node.get_int("hidden_size", form.hidden) == form.hidden;
  if (!fits || form.hidden < 1 || form.input < 1) return "its weights do not fit each other";
  return {};
}

bool is_recurrent_parameter(const GraphIndex&, uint32_t, uint32_t position) {
  return position >= kLayerW && position <= kLayerB;
}

std::span<const Implementation> recurrent_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {{"step by step", make_always<RecurrentKernel>}};
  return kAll;
}

}  // namespace gantry::x86
