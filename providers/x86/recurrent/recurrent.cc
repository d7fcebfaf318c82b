// SPDX-License-Identifier: Apache-2.0
// LSTM and RNN (ai.onnx 1, 7, 14, 22) and GRU (3, 7, 14, 22) of f32 with constant weights and the
// functions that they have by default. What the input adds to the gates of all steps is one product
// of the library's; the steps are recurrent/code.h. Directions, and sequences of a batch, are
// parted among the threads; where there are too few of them, the hidden units of each step are.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "fuse/constants.h"
#include "fuse/kernels.h"
#include "onednn/packed_weights.h"
#include "onednn/plan.h"
#include "recurrent/weights.h"

namespace gantry::x86 {
namespace {

enum Input : uint8_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };
enum Output : uint8_t { kY, kYH, kYC };

/// Of a GRU that resets before its product the first of its two steps.
CellKind kind_of(const sdk::NodeView& node) {
  if (node.op_type() == "LSTM") return CellKind::kLstm;
  if (node.op_type() == "RNN") return CellKind::kRnn;
  return node.get_int("linear_before_reset", 0) != 0 ? CellKind::kGru : CellKind::kGruGates;
}

/// Of the node's attributes and weights.
struct Form {
  CellKind kind = CellKind::kLstm;
  int64_t gates = 0;
  bool is_batch_first = false;
  bool starts_reverse = false;
  int64_t directions = 1;
  int64_t input = 0;
  int64_t hidden = 0;

  Form() = default;
  explicit Form(const sdk::NodeView& node)
      : kind(kind_of(node)),
        gates(kind == CellKind::kGruGates ? gates_of(CellKind::kGru) : gates_of(kind)),
        is_batch_first(node.get_int("layout", 0) != 0),
        starts_reverse(node.get_string("direction", "forward") == "reverse"),
        directions(node.input(kW).extent(0)),
        input(node.input(kW).extent(2)),
        hidden(node.input(kR).extent(2)) {}

  [[nodiscard]] bool has_two_steps() const { return kind == CellKind::kGruGates; }
  [[nodiscard]] int64_t width() const { return gates * hidden; }
};

/// Extents of a run.
struct Sizes {
  int64_t steps = 0;
  int64_t batch = 0;
};

class RecurrentKernel final : public sdk::Kernel {
 public:
  explicit RecurrentKernel(const KernelArgs& args)
      : form_(args.index.node(args.fusion.root)),
        label_(args.index.node(args.fusion.root).label()) {
    pack(args);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<FusedVariants>>();
  }

  void run(sdk::Call& call) const override {
    const Sizes sizes = resolve(call);
    const int64_t rows = sizes.steps * sizes.batch;
    const int64_t d = form_.directions;
    const int64_t h = form_.hidden;
    Results to;
    if (call.wants(kY)) {
      to.y = form_.is_batch_first ? floats(call, kY, {sizes.batch, sizes.steps, d, h})
                                  : floats(call, kY, {sizes.steps, d, sizes.batch, h});
    }
    const auto state = [&](int slot) {
      return form_.is_batch_first ? floats(call, slot, {sizes.batch, d, h})
                                  : floats(call, slot, {d, sizes.batch, h});
    };
    if (call.wants(kYH)) to.last_h = state(kYH);
    if (call.wants(kYC)) to.last_c = state(kYC);
    if (sizes.batch == 0) return;
    auto* projected = call.scratch<float>(rows * d * form_.width());
    if (rows > 0) project(call, rows, projected);
    run_steps(call, sizes, projected, to);
  }

 private:
  /// Null: not wanted.
  struct Results {
    float* y = nullptr;
    float* last_h = nullptr;
    float* last_c = nullptr;
  };

  /// Some sequences of one direction.
  struct Task {
    int64_t direction = 0;
    int64_t first = 0;
    int64_t rows = 0;
    float* before = nullptr;
    float* after = nullptr;
    float* cell = nullptr;
  };

  static float* floats(sdk::Call& call, int slot, std::initializer_list<int64_t> shape) {
    return static_cast<float*>(call.output(slot, GANTRY_FLOAT, shape).data);
  }

  [[nodiscard]] Sizes resolve(const sdk::Call& call) const {
    const sdk::Shape x = call.shape(kX);
    if (x.rank != 3 || x[2] != form_.input) {
      throw sdk::Error(
          GANTRY_INVALID_ARGUMENT,
          label_ + ": input 0 was expected to have three axes, the last of extent " +
              std::to_string(form_.input) + " as the weights have it, and has " +
              (x.rank == 3 ? "extent " + std::to_string(x[2]) : std::to_string(x.rank) + " axes"));
    }
    const Sizes sizes{x[form_.is_batch_first ? 1 : 0], x[form_.is_batch_first ? 0 : 1]};
    const std::array<int64_t, 3> wanted = {form_.is_batch_first ? sizes.batch : form_.directions,
                                           form_.is_batch_first ? form_.directions : sizes.batch,
                                           form_.hidden};
    for (const int slot : {kInitialH, kInitialC}) {
      if (!call.has_input(slot) || call.shape(slot) == sdk::Shape(wanted.data(), 3)) continue;
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       label_ + ": input " + std::to_string(slot) +
                           ", an initial state, was expected to have shape [" +
                           std::to_string(wanted[0]) + ", " + std::to_string(wanted[1]) + ", " +
                           std::to_string(wanted[2]) + "]");
    }
    return sizes;
  }

  // ---- What the input adds to the gates
  // ---------------------------------------------------------

  [[nodiscard]] dnnl::matmul::primitive_desc describe(int64_t rows, const Desc& weights) const {
    const int64_t columns = form_.directions * form_.width();
    return {engine(),
            desc_f32({rows, form_.input}, Tag::ab),
            weights,
            desc_f32({1, columns}, Tag::ab),
            desc_f32({rows, columns}, Tag::ab),
            attributes()};
  }

  /// projected: [rows of the input, directions, gates, hidden].
  void project(sdk::Call& call, int64_t rows, float* projected) const {
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
      made.launch = Launch(label_, dnnl::matmul(primitive),
                           {{DNNL_ARG_SRC, made.source.memory()},
                            {DNNL_ARG_WEIGHTS, packed_.in(WeightsLayout(primitive.weights_desc()))},
                            {DNNL_ARG_BIAS, bias_},
                            {DNNL_ARG_DST, made.target.memory()},
                            {DNNL_ARG_SCRATCHPAD, made.scratchpad.memory()}});
      return made;
    };
    cache.get([] { return FusedVariants(); })
        .run(call, cache.stream, {.source = call.input(kX).data, .target = projected},
             OwnEpilogue(), make);
  }

  // ---- The steps
  // --------------------------------------------------------------------------------

  void run_steps(sdk::Call& call, const Sizes& sizes, const float* projected,
                 const Results& to) const {
    constexpr int64_t kLeastSequences = 4;  // whose weights are read once
    constexpr int64_t kProductsToPart = 1 << 17;
    const int threads = call.thread_count();
    const int64_t parts =
        std::clamp<int64_t>((threads + form_.directions - 1) / form_.directions, 1,
                            std::max<int64_t>(1, sizes.batch / kLeastSequences));
    const int64_t tasks = form_.directions * parts;
    const int64_t stride = unit_blocks_of(form_.hidden) * kUnitBlock;
    const int64_t of_state = sizes.batch * stride;
    auto* memory = call.scratch<float>(form_.directions * 3 * of_state);
    const int64_t products = sizes.batch * form_.width() * form_.hidden / parts;
    const bool parts_units = tasks < threads && products >= kProductsToPart;
    const bool parts_tasks = products * sizes.steps >= kProductsToPart;
    call.parallel_for(tasks, parts_tasks ? 1 : tasks, [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      for (int64_t index = begin; index < end; ++index) {
        const int64_t part = index % parts;
        Task task;
        task.direction = index / parts;
        task.first = part * sizes.batch / parts;
        task.rows = (part + 1) * sizes.batch / parts - task.first;
        float* own = memory + task.direction * 3 * of_state + task.first * stride;
        task.before = own;
        task.after = own + of_state;
        task.cell = own + 2 * of_state;
        run_task(call, sizes, projected, to, task, parts_units ? threads : 1);
      }
    });
  }

  /// Row of a state of the node, [directions, batch] or the other way round.
  [[nodiscard]] int64_t state_row(const Sizes& sizes, int64_t direction, int64_t sequence) const {
    return form_.is_batch_first ? sequence * form_.directions + direction
                                : direction * sizes.batch + sequence;
  }

  void load_state(sdk::Call& call, const Sizes& sizes, const Task& task, int slot,
                  float* state) const {
    const int64_t stride = unit_blocks_of(form_.hidden) * kUnitBlock;
    for (int64_t row = 0; row < task.rows; ++row) {
      float* to = state + row * stride;
      if (call.has_input(slot)) {
        const int64_t from = state_row(sizes, task.direction, task.first + row);
        std::copy_n(call.data<float>(slot) + from * form_.hidden, form_.hidden, to);
      } else {
        std::fill_n(to, form_.hidden, 0.0F);
      }
    }
  }

  void store_state(const Sizes& sizes, const Task& task, const float* state, float* to) const {
    if (!to) return;
    const int64_t stride = unit_blocks_of(form_.hidden) * kUnitBlock;
    for (int64_t row = 0; row < task.rows; ++row) {
      const int64_t place = state_row(sizes, task.direction, task.first + row);
      std::copy_n(state + row * stride, form_.hidden, to + place * form_.hidden);
    }
  }

  void run_task(sdk::Call& call, const Sizes& sizes, const float* projected, const Results& to,
                Task task, int threads) const {
    load_state(call, sizes, task, kInitialH, task.before);
    if (form_.kind == CellKind::kLstm) load_state(call, sizes, task, kInitialC, task.cell);
    const int64_t d = form_.directions;
    const int64_t h = form_.hidden;
    const int64_t blocks = unit_blocks_of(h);
    const int64_t from_sequence = form_.is_batch_first ? sizes.steps : 1;
    const int64_t from_step = form_.is_batch_first ? 1 : sizes.batch;
    RecurrentStep step;
    step.kind = form_.kind;
    step.hidden = h;
    step.rows = task.rows;
    step.weights = weights_.of_direction(task.direction);
    step.bias = inner_bias_.empty() ? nullptr : inner_bias_.data() + task.direction * h;
    step.projected_stride = from_sequence * d * form_.width();
    step.state_stride = blocks * kUnitBlock;
    step.result_stride = form_.is_batch_first ? sizes.steps * d * h : h;
    step.cell = task.cell;
    const bool is_reverse = form_.starts_reverse || task.direction == 1;
    for (int64_t i = 0; i < sizes.steps; ++i) {
      const int64_t time = is_reverse ? sizes.steps - 1 - i : i;
      const int64_t row = time * from_step + task.first * from_sequence;
      step.projected = projected + (row * d + task.direction) * form_.width();
      if (to.y) {
        const int64_t place = form_.is_batch_first
                                  ? (task.first * sizes.steps + time) * d + task.direction
                                  : (time * d + task.direction) * sizes.batch + task.first;
        step.result = to.y + place * h;
      }
      step.before = task.before;
      step.after = task.after;
      run_units(call, step, threads);
      if (form_.has_two_steps()) {
        RecurrentStep rest = step;
        rest.kind = CellKind::kGruRest;
        rest.weights = rest_.of_direction(task.direction);
        run_units(call, rest, threads);
      }
      std::swap(task.before, task.after);
    }
    store_state(sizes, task, task.before, to.last_h);
    store_state(sizes, task, task.cell, to.last_c);
  }

  static void run_units(sdk::Call& call, const RecurrentStep& step, int threads) {
    const int64_t blocks = unit_blocks_of(step.hidden);
    call.parallel_for(blocks, (blocks + threads - 1) / threads, [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      run_step(step, begin, end);
    });
  }

  // ---- When the claim is compiled
  // ---------------------------------------------------------------

  void pack(const KernelArgs& args) {
    const GraphIndex& index = args.index;
    const sdk::NodeView node = index.node(args.fusion.root);
    const int64_t columns = form_.directions * form_.width();
    const sdk::ValueView x = node.input(kX);
    constexpr int64_t kGuessedRows = 64;
    int64_t rows = kGuessedRows;
    if (x.extent(0) > 0 && x.extent(1) > 0) rows = x.extent(0) * x.extent(1);
    any_ = {{form_.input, columns}, Type::f32, Tag::any};
    const auto layout = [&] {
      Desc chosen;
      with_threads(args.threads(), [&] { chosen = describe(rows, any_).weights_desc(); });
      return WeightsLayout(chosen);
    };
    packed_.pack(index.host(), args.choices, layout,
                 {desc_f32({form_.input, columns}, Tag::ba), node.input(kW).constant()->data, {}});
    const void* recurrent = node.input(kR).constant()->data;
    weights_.pack(index.host(), args.choices, form_.kind, form_.directions, form_.hidden,
                  recurrent);
    if (form_.has_two_steps()) {
      rest_.pack(index.host(), args.choices, CellKind::kGruRest, form_.directions, form_.hidden,
                 recurrent);
    }
    set_bias(node);
  }

  // Both biases are added to the gates at once, but that of a product which is reset.
  void set_bias(const sdk::NodeView& node) {
    const int64_t width = form_.width();
    bias_ = dnnl::memory(desc_f32({1, form_.directions * width}, Tag::ab), engine());
    auto* sums = static_cast<float*>(bias_.get_data_handle());
    std::fill_n(sums, form_.directions * width, 0.0F);
    if (!node.input(kB).present()) return;
    const std::vector<float> bias = floats_of(node.input(kB));
    const int64_t at_once = form_.kind == CellKind::kGru ? 2 * form_.hidden : width;
    for (int64_t d = 0; d < form_.directions; ++d) {
      const float* of_input = bias.data() + d * 2 * width;
      const float* of_state = of_input + width;
      for (int64_t i = 0; i < width; ++i)
        sums[d * width + i] = of_input[i] + (i < at_once ? of_state[i] : 0.0F);
      inner_bias_.insert(inner_bias_.end(), of_state + at_once, of_state + width);
    }
  }

  Form form_;
  std::string label_;
  Desc any_;  // of the input's weights
  PackedWeights packed_;
  dnnl::memory bias_;
  std::vector<float> inner_bias_;  // [directions, hidden] of a GRU
  RecurrentWeights weights_;
  RecurrentWeights rest_;  // of a second step
};

/// True for no names, and for those of the operator's default functions.
bool has_default_activations(const sdk::NodeView& node) {
  const std::vector<std::string> names = node.get_strings("activations");
  const bool is_rnn = node.op_type() == "RNN";
  const size_t each = is_rnn ? 1 : node.op_type() == "LSTM" ? 3 : 2;
  for (size_t i = 0; i < names.size(); ++i) {
    std::string name = names[i];
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (name != (i % each == 0 && !is_rnn ? "sigmoid" : "tanh")) return false;
  }
  const std::string direction = node.get_string("direction", "forward");
  return names.empty() || names.size() == (direction == "bidirectional" ? 2 * each : each);
}

}  // namespace

std::string recurrent_refusal(const GraphIndex& index, const Fusion& fusion) {
  const sdk::NodeView node = index.node(fusion.root);
  const bool is_lstm = node.op_type() == "LSTM";
  if (node.input(kX).dtype() != GANTRY_FLOAT || node.input(kX).rank() != 3)
    return "only float32 of rank 3 is taken";
  const sdk::ValueView w = node.input(kW);
  const sdk::ValueView r = node.input(kR);
  if (!is_constant_f32(w) || !is_constant_f32(r) || w.rank() != 3 || r.rank() != 3)
    return "its weights are not constant";
  if (node.input(kB).present() && !is_constant_f32(node.input(kB)))
    return "its biases are not constant";
  if (node.input(kLengths).present()) return "its sequences may differ in length";
  if (is_lstm && node.input(kPeepholes).present()) return "its cells are seen by its gates";
  if (!has_default_activations(node)) return "it has other functions than Sigmoid and Tanh";
  if (node.has("clip")) return "its sums are limited";
  if (is_lstm && node.get_int("input_forget", 0) != 0) return "its gates are coupled";
  const Form form(node);
  const bool is_bidirectional = node.get_string("direction", "forward") == "bidirectional";
  const auto is = [](const sdk::ValueView& value, std::initializer_list<int64_t> extents) {
    int axis = 0;
    return value.rank() == static_cast<int>(extents.size()) &&
           std::all_of(extents.begin(), extents.end(),
                       [&](int64_t extent) { return value.extent(axis++) == extent; });
  };
  const int64_t directions = is_bidirectional ? 2 : 1;
  const bool fits =
      is(w, {directions, form.width(), form.input}) &&
      is(r, {directions, form.width(), form.hidden}) &&
      (!node.input(kB).present() || is(node.input(kB), {directions, 2 * form.width()})) &&
      node.get_int("hidden_size", form.hidden) == form.hidden;
  if (!fits || form.hidden < 1 || form.input < 1) return "its weights do not fit each other";
  return {};
}

bool is_recurrent_parameter(const GraphIndex&, uint32_t, uint32_t position) {
  return position >= kW && position <= kB;
}

std::unique_ptr<sdk::Kernel> make_recurrent(const KernelArgs& args) {
  return std::make_unique<RecurrentKernel>(args);
}

}  // namespace gantry::x86
