// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM: one matmul of the input for the gates of all steps, then a kernel per step, or
// one for all steps where the state is small.
#include "kernels/recurrent/recurrent.h"

#include <algorithm>

#include "compile/kernel_texts.h"
#include "operators/linear_algebra/rows_matmul.h"
#include "operators/operators.h"
#include "operators/recurrent/recurrent_functions.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

enum Slot : int { kX, kWeights, kRecurrence, kBias, kLengths, kState, kCell, kPeepholes };

// Limit of hidden units up to which a block runs all steps: reading their weights takes no longer
// than a launch.
constexpr int64_t kMostUnitsOfOneBlock = 128;

class Recurrent final : public Operation {
 public:
  explicit Recurrent(const NodeView& node)
      : gates_(node.op_type() == "LSTM"  ? 4
               : node.op_type() == "GRU" ? 3
                                         : 1),
        directions_(node.get_string("direction", "forward") == "bidirectional" ? 2 : 1),
        is_reverse_(node.get_string("direction", "forward") == "reverse"),
        is_batch_first_(node.get_int("layout", 0) != 0),
        resets_after_(node.get_int("linear_before_reset", 0) != 0),
        is_coupled_(node.get_int("input_forget", 0) != 0),
        clip_(node.get_float("clip", 0)),
        functions_(recurrent_functions(node, directions_,
                                       gates_ == 4   ? 3
                                       : gates_ == 3 ? 2
                                                     : 1)) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(kX);
    const Extents& recurrence = planner.shape(kRecurrence);
    if (x.rank() != 3 || recurrence.size() != 3) throw misfit(planner);
    RecurrentParameters p = {};
    p.steps = static_cast<int>(x.shape[is_batch_first_ ? 1 : 0]);
    p.rows = static_cast<int>(x.shape[is_batch_first_ ? 0 : 1]);
    p.hidden = static_cast<int>(recurrence[2]);
    p.directions = directions_;
    p.is_reverse = is_reverse_ ? 1 : 0;
    p.clip = clip_;
    check(planner, p);
    std::vector<std::pair<const void* const*, Buffer>> addresses = outputs(planner, p);
    if (int64_t{p.rows} * p.hidden == 0) return;
    add_inputs(planner, p, addresses);
    add_room(planner, p, addresses);
    const int64_t states = int64_t{p.directions} * p.rows * p.hidden;
    planner.launch(source_of(planner, "recurrent_state.cu", 1), blocks_for(planner, states),
                   kThreads, p, addresses);
    launch_steps(planner, p, addresses);
  }

 private:
  using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

  [[nodiscard]] sdk::Error misfit(const Planner& planner) const {
    return {GANTRY_INVALID_ARGUMENT,
            "a sequence of the shape " + text_of(planner.shape(kX)) + ", weights " +
                text_of(planner.shape(kWeights)) + " and " + text_of(planner.shape(kRecurrence)) +
                " do not fit together, or a bias, a state, lengths or peepholes them; expected " +
                std::to_string(directions_) + " directions of " + std::to_string(gates_) +
                " gates and a step at least"};
  }

  void check(const Planner& planner, const RecurrentParameters& p) const {
    const int64_t all_gates = int64_t{gates_} * p.hidden;
    const int64_t states = int64_t{p.directions} * p.rows * p.hidden;
    const auto has = [&](int slot, int64_t count) {
      return !planner.has_input(slot) || planner.input(slot).element_count() == count;
    };
    const bool fits =
        p.steps > 0 && planner.shape(kRecurrence) == Extents{p.directions, all_gates, p.hidden} &&
        planner.shape(kWeights) == Extents{p.directions, all_gates, planner.shape(kX)[2]} &&
        has(kBias, 2 * p.directions * all_gates) && has(kLengths, p.rows) && has(kState, states) &&
        has(kCell, states) && has(kPeepholes, 3 * int64_t{p.directions} * p.hidden);
    if (!fits) throw misfit(planner);
  }

  Addresses outputs(Planner& planner, RecurrentParameters& p) const {
    const uint32_t dtype = planner.input(kX).dtype;
    const int64_t row = p.hidden;
    const int64_t rows = row * p.rows;
    p.all_at = is_batch_first_ ? StepStrides{p.directions * row, row, p.steps * p.directions * row}
                               : StepStrides{p.directions * rows, rows, row};
    p.ends_at =
        is_batch_first_ ? StepStrides{0, row, p.directions * row} : StepStrides{0, rows, row};
    const Extents all = is_batch_first_ ? Extents{p.rows, p.steps, p.directions, p.hidden}
                                        : Extents{p.steps, p.directions, p.rows, p.hidden};
    const Extents ends = is_batch_first_ ? Extents{p.rows, p.directions, p.hidden}
                                         : Extents{p.directions, p.rows, p.hidden};
    Addresses addresses;
    if (planner.wants(0)) addresses.emplace_back(&p.all, planner.output(0, dtype, all));
    if (planner.wants(1)) addresses.emplace_back(&p.last_state, planner.output(1, dtype, ends));
    if (planner.wants(2)) addresses.emplace_back(&p.last_cell, planner.output(2, dtype, ends));
    return addresses;
  }

  void add_inputs(Planner& planner, RecurrentParameters& p, Addresses& addresses) const {
    const InputMetadata& x = planner.input(kX);
    // The gates of all directions are contiguous, like the rows of the weights.
    const int64_t width = int64_t{gates_} * p.hidden;
    const int64_t row = p.directions * width;
    const int64_t rows = int64_t{p.steps} * p.rows;
    p.gates_at = is_batch_first_ ? StepStrides{row, width, p.steps * row}
                                 : StepStrides{p.rows * row, width, row};
    const Buffer gates = planner.scratch(static_cast<uint64_t>(rows * row * bytes_of(x.dtype)));
    plan_rows_matmul(planner, {x.dtype, rows, row, x.shape[2]}, Planner::in(kX),
                     Planner::in(kWeights), nullptr, gates);
    addresses.emplace_back(&p.gates, gates);
    addresses.emplace_back(&p.recurrence, Planner::in(kRecurrence));
    const std::pair<const void* const*, int> optional[] = {
        {&p.bias, kBias},
        {reinterpret_cast<const void* const*>(&p.lengths), kLengths},
        {&p.first_state, kState},
        {&p.first_cell, kCell},
        {&p.peepholes, kPeepholes}};
    for (const auto& [member, slot] : optional) {
      if (planner.has_input(slot)) addresses.emplace_back(member, Planner::in(slot));
    }
  }

  void add_room(Planner& planner, const RecurrentParameters& p, Addresses& addresses) const {
    const int64_t bytes = planner.input(kX).dtype == GANTRY_DOUBLE ? 8 : 4;
    const auto plane = static_cast<uint64_t>(int64_t{p.directions} * p.rows * p.hidden * bytes);
    addresses.emplace_back(&p.state, planner.scratch(2 * plane));
    if (gates_ == 4) addresses.emplace_back(&p.cell, planner.scratch(plane));
    if (is_split()) addresses.emplace_back(&p.reset, planner.scratch(2 * plane));
  }

  // Whether all units must be reset before any can continue (linear_before_reset = 0).
  [[nodiscard]] bool is_split() const { return gates_ == 3 && !resets_after_; }

  void launch_steps(Planner& planner, RecurrentParameters& p, const Addresses& addresses) const {
    const int rows = p.rows >= 4 ? 4 : p.rows >= 2 ? 2 : 1;
    const std::string source = source_of(planner, "recurrent.cu", rows);
    p.row_tiles = (p.rows + rows - 1) / rows;
    const int64_t tiles = int64_t{p.row_tiles} * p.directions;
    const int both = is_split() ? 3 : 2;
    if (p.hidden <= kMostUnitsOfOneBlock) {
      p.unit_blocks = 1;
      p.end_step = p.steps;
      p.parts = both;
      return planner.launch(source, tiles, 512, p, addresses);
    }
    constexpr int kWarps = 8;
    p.unit_blocks = (p.hidden + kWarps - 1) / kWarps;
    for (int step = 0; step < p.steps; ++step) {
      p.first_step = step;
      p.end_step = step + 1;
      for (const int part : {1, 2}) {
        p.parts = part;
        if ((both & part) != 0)
          planner.launch(source, tiles * p.unit_blocks, 32 * kWarps, p, addresses);
      }
    }
  }

  [[nodiscard]] std::string source_of(const Planner& planner, const char* file, int rows) const {
    const uint32_t dtype = planner.input(kX).dtype;
    const std::string text = "\ntypedef " + type_name(dtype) + " T;\ntypedef " +
                             computed_name(dtype) + " C;\n#define GATES " + std::to_string(gates_) +
                             "\n#define RESETS_AFTER " + (resets_after_ ? "1" : "0") +
                             "\n#define IS_COUPLED " + (is_coupled_ ? "1" : "0") +
                             "\n#define ROWS " + std::to_string(rows) + "\n";
    return kernel_source({"recurrent.h"}, text + functions_ + std::string(kernel_text(file)));
  }

  int gates_;
  int directions_;
  bool is_reverse_;
  bool is_batch_first_;
  bool resets_after_;
  bool is_coupled_;
  float clip_;
  std::string functions_;
};

std::string is_supported(const NodeView& node) {
  for (int slot = kWeights; slot <= kPeepholes; ++slot) {
    const sdk::ValueView value = node.input(slot);
    if (slot != kLengths && value.present() && value.dtype() != node.input(kX).dtype())
      return "tensors of different element types are not supported";
  }
  return "";
}

constexpr sdk::KernelRow kRows[] = {
    {"RNN", 7, sdk::kLatest, sdk::kFloats, make<Recurrent>, {}, is_supported},
    {"GRU", 7, sdk::kLatest, sdk::kFloats, make<Recurrent>, {}, is_supported},
    {"LSTM", 7, sdk::kLatest, sdk::kFloats, make<Recurrent>, {}, is_supported},
};

}  // namespace

sdk::KernelTable recurrent_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
