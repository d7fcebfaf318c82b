// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/recurrent_body.h"

#include <gantry/error.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

using Name = std::string;  // of a value; "": zeros that nobody has to add

enum LayerSlot {
  kLayerSequence,
  kLayerWeights,
  kLayerRecurrence,
  kLayerBias,
  kLayerLengths,
  kLayerState,
  kLayerCell,
  kLayerPeepholes
};

constexpr int64_t kMostLayerSteps = 4096;

struct Cell {
  std::string_view op_type;
  int64_t gates;
  std::vector<std::string> activations;  // of one direction
};
const Cell* find_cell(std::string_view op_type) {
  static const std::vector<Cell> kCells = {{"RNN", 1, {"tanh"}},
                                           {"GRU", 3, {"sigmoid", "tanh"}},
                                           {"LSTM", 4, {"sigmoid", "tanh", "tanh"}}};
  const auto found = std::find_if(kCells.begin(), kCells.end(),
                                  [&](const Cell& cell) { return cell.op_type == op_type; });
  return found == kCells.end() ? nullptr : &*found;
}

struct CellFunction {
  std::string name;  // lower case
  float alpha = 0;
  float beta = 0;
  bool has_alpha = false;
  bool has_beta = false;
};
const std::vector<CellFunction>& cell_functions() {
  static const std::vector<CellFunction> kFunctions = {{"relu"},
                                                       {"tanh"},
                                                       {"sigmoid"},
                                                       {"softsign"},
                                                       {"softplus"},
                                                       {"affine", 1, 0, true, true},
                                                       {"leakyrelu", 0.01F, 0, true},
                                                       {"thresholdedrelu", 1, 0, true},
                                                       {"scaledtanh", 1, 1, true, true},
                                                       {"hardsigmoid", 0.2F, 0.5F, true, true},
                                                       {"elu", 1, 0, true}};
  return kFunctions;
}

/// What a direction has between its steps.
struct LayerState {
  Name hidden;
  Name cell;
};

/// The tensors of a direction. Weights stand as the right factors of products.
struct Direction {
  std::vector<CellFunction> functions;
  std::vector<Name> steps;  // what the sequence adds to the gates: [1, batch, gates * hidden]
  std::vector<Name> late;   // of a GRU what it adds to the last gate
  Name recurrence;          // [hidden, gates * hidden]; of a GRU of the first two gates
  Name late_recurrence;     // of a GRU of the last gate
  Name late_bias;           // of a GRU that resets after the product
  std::vector<Name> peepholes;
};

class UnrolledLayer : public BodyText {
 public:
  UnrolledLayer(onnx::FunctionProto& function, const onnx::NodeProto& node,
                const BodyContext& context, const Cell& cell)
      : BodyText(function), node_(node), context_(context), cell_(cell) {
    is_batch_first_ = int_of(context, "layout", 0) != 0;
    steps_ = extent(kLayerSequence, is_batch_first_ ? 1 : 0);
    hidden_ = extent(kLayerRecurrence, 2);
    if (steps_ < 1 || steps_ > kMostLayerSteps || hidden_ < 1) {
      fail(Code::kUnsupported, "expected a number of steps, from 1 to " +
                                   std::to_string(kMostLayerSteps) +
                                   ", and of hidden values that are known before the run, found " +
                                   std::to_string(steps_) + " and " + std::to_string(hidden_) +
                                   " (-1: not known); give the model's inputs their shapes");
    }
    zero_ = typed(0);
    one_ = typed(1);
  }

  void build() {
    read_direction();
    read_functions();
    ints("first", {0});
    ints("second", {1});
    const Name sequence = is_batch_first_ ? let("Transpose<perm = [1, 0, 2]>(x0)") : Name("x0");
    std::vector<std::vector<Name>> outputs(directions_);
    std::vector<LayerState> states = initial_states();
    for (size_t d = 0; d < directions_; ++d) {
      const Direction own = direction(d, sequence);
      outputs[d].resize(own.steps.size());
      for (size_t i = 0; i < own.steps.size(); ++i) {
        const bool is_backward = starts_at_end_ || d == 1;
        const size_t step = is_backward ? own.steps.size() - 1 - i : i;
        outputs[d][step] = advance(own, step, states[d]);
      }
    }
    write_outputs(outputs, states);
  }

 private:
  [[noreturn]] void fail(Code code, const std::string& what) const {
    throw Error(code, node_.op_type() + " \"" + node_.name() + "\": " + what);
  }
  [[nodiscard]] bool has(int slot) const { return context_.hasInput(slot); }
  /// -1: not known.
  [[nodiscard]] int64_t extent(int slot, int axis) const {
    if (rank_of(context_, slot) <= axis) return -1;
    const auto& dim = context_.getInputType(slot)->tensor_type().shape().dim(axis);
    return dim.has_dim_value() ? dim.dim_value() : -1;
  }

  /// A new value.
  Name let(const std::string& expression) {
    Name name = "v" + std::to_string(count_++);
    add(name + " = " + expression);
    return name;
  }
  Name let(const char* op_type, const Name& a) { return let(op_type + ("(" + a + ")")); }
  Name let(const char* op_type, const Name& a, const Name& b) {
    return let(op_type + ("(" + a + ", " + b + ")"));
  }
  Name let(const char* op_type, const Name& a, float alpha) {
    Name name = "v" + std::to_string(count_++);
    add(name + " = " + op_type + "(" + a + ")", "alpha", alpha);
    return name;
  }
  Name sum(const Name& a, const Name& b) {
    return a.empty() ? b : b.empty() ? a : let("Add", a, b);
  }
  /// A number of the layer's type.
  Name typed(float value) {
    const Name name = "v" + std::to_string(count_++);
    number(name, value);
    return let("Cast<to = " + std::to_string(type_of(context_, kLayerSequence)) + ">(" + name +
               ")");
  }
  std::vector<Name> split(const Name& tensor, int64_t axis, const std::vector<int64_t>& sizes) {
    if (sizes.size() == 1) return {tensor};
    const Name counts = "v" + std::to_string(count_++);
    ints(counts, sizes);
    std::vector<Name> parts;
    std::string all;
    for (size_t i = 0; i < sizes.size(); ++i) {
      parts.push_back("v" + std::to_string(count_++));
      all += (i ? ", " : "") + parts.back();
    }
    add(all + " = Split<axis = " + std::to_string(axis) + ">(" + tensor + ", " + counts + ")");
    return parts;
  }
  Name joined(const std::vector<Name>& parts, int64_t axis) {
    if (parts.size() == 1) return parts[0];
    std::string all;
    for (const Name& part : parts) all += (all.empty() ? "" : ", ") + part;
    return let("Concat<axis = " + std::to_string(axis) + ">(" + all + ")");
  }
  /// An input's part of a direction, without the axis of directions.
  Name of_direction(int slot, size_t d) {
    const Name all = "x" + std::to_string(slot);
    return let("Squeeze", split(all, 0, std::vector<int64_t>(directions_, 1))[d], "first");
  }
  Name turned(const Name& matrix) { return let("Transpose<perm = [1, 0]>(" + matrix + ")"); }

  void read_direction() {
    const onnx::AttributeProto* given = context_.getAttribute("direction");
    const std::string text = given ? given->s() : "forward";
    directions_ = text == "bidirectional" ? 2 : 1;
    starts_at_end_ = text == "reverse";
  }

  /// The lists of parameters have numbers only for the functions that take one.
  void read_functions() {
    const onnx::AttributeProto* names = context_.getAttribute("activations");
    const onnx::AttributeProto* alphas = context_.getAttribute("activation_alpha");
    const onnx::AttributeProto* betas = context_.getAttribute("activation_beta");
    const size_t count = directions_ * cell_.activations.size();
    const bool is_given = names && names->strings_size() > 0;
    if (is_given && static_cast<size_t>(names->strings_size()) < count)
      fail(Code::kInvalidModel, "attribute activations needs " + std::to_string(count) + " names");
    int alpha = 0;
    int beta = 0;
    for (size_t i = 0; i < count; ++i) {
      std::string name = is_given ? names->strings(static_cast<int>(i))
                                  : cell_.activations[i % cell_.activations.size()];
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
      const auto known =
          std::find_if(cell_functions().begin(), cell_functions().end(),
                       [&](const CellFunction& function) { return function.name == name; });
      if (known == cell_functions().end())
        fail(Code::kInvalidModel, "there is no activation \"" + name + "\"");
      CellFunction own = *known;
      if (own.has_alpha && alphas && alpha < alphas->floats_size())
        own.alpha = alphas->floats(alpha++);
      if (own.has_beta && betas && beta < betas->floats_size()) own.beta = betas->floats(beta++);
      functions_.push_back(own);
    }
  }

  std::vector<LayerState> initial_states() {
    std::vector<LayerState> states(directions_);
    const auto read = [&](int slot, Name LayerState::*part) {
      if (!has(slot) || (slot == kLayerCell && cell_.op_type != "LSTM")) return;
      Name all = "x" + std::to_string(slot);
      if (is_batch_first_) all = let("Transpose<perm = [1, 0, 2]>(" + all + ")");
      const std::vector<Name> parts = split(all, 0, std::vector<int64_t>(directions_, 1));
      for (size_t d = 0; d < directions_; ++d) states[d].*part = parts[d];
    };
    read(kLayerState, &LayerState::hidden);
    read(kLayerCell, &LayerState::cell);
    return states;
  }

  Direction direction(size_t d, const Name& sequence) {
    const int64_t n = hidden_;
    const bool is_gru = cell_.op_type == "GRU";
    const int64_t early = is_gru ? 2 * n : cell_.gates * n;
    const std::vector<int64_t> gates = is_gru ? std::vector{early, n} : std::vector{early};
    Direction own;
    const auto first =
        functions_.begin() + static_cast<std::ptrdiff_t>(d * cell_.activations.size());
    own.functions.assign(first, first + static_cast<std::ptrdiff_t>(cell_.activations.size()));
    const std::vector<Name> weights = split(of_direction(kLayerWeights, d), 0, gates);
    const std::vector<Name> recurrence = split(of_direction(kLayerRecurrence, d), 0, gates);
    own.recurrence = turned(recurrence[0]);
    if (is_gru) own.late_recurrence = turned(recurrence[1]);
    std::vector<Name> biases(gates.size());
    if (has(kLayerBias)) {
      std::vector<int64_t> twice = gates;
      twice.insert(twice.end(), gates.begin(), gates.end());
      const std::vector<Name> parts = split(of_direction(kLayerBias, d), 0, twice);
      const bool resets_after = is_gru && int_of(context_, "linear_before_reset", 0) != 0;
      biases[0] = sum(parts[0], parts[gates.size()]);
      if (is_gru) biases[1] = resets_after ? parts[1] : sum(parts[1], parts[3]);
      if (resets_after) own.late_bias = parts[3];
    }
    const std::vector<int64_t> ones(static_cast<size_t>(steps_), 1);
    const auto of_sequence = [&](size_t i) {
      return split(sum(let("MatMul", sequence, turned(weights[i])), biases[i]), 0, ones);
    };
    own.steps = of_sequence(0);
    if (is_gru) own.late = of_sequence(1);
    if (cell_.op_type == "LSTM" && has(kLayerPeepholes))
      own.peepholes = split(of_direction(kLayerPeepholes, d), 0, {n, n, n});
    return own;
  }

  /// One step: what the layer puts out there.
  Name advance(const Direction& own, size_t step, LayerState& state) {
    const LayerState next = cell_.op_type == "LSTM"  ? lstm(own, step, state)
                            : cell_.op_type == "GRU" ? gru(own, step, state)
                                                     : rnn(own, step, state);
    if (!has(kLayerLengths)) {
      state = next;
      return state.hidden;
    }
    // A sequence that has ended, or not begun where it is read from its end, stays as it is.
    const Name goes_on = is_within(step);
    const auto chosen = [&](const Name& then, const Name& otherwise) {
      return let("Where(" + goes_on + ", " + then + ", " + (otherwise.empty() ? zero_ : otherwise) +
                 ")");
    };
    state.hidden = chosen(next.hidden, state.hidden);
    if (!next.cell.empty()) state.cell = chosen(next.cell, state.cell);
    return chosen(next.hidden, "");
  }

  /// [1, batch, 1]: whether a step is before the sequence's end.
  Name is_within(size_t step) {
    const Name place = "v" + std::to_string(count_++);
    number(place, static_cast<int64_t>(step));
    const Name within = let("Less", place, let("Cast<to = 7>(x4)"));
    const Name axes = "v" + std::to_string(count_++);
    ints(axes, {0, 2});
    return let("Unsqueeze", within, axes);
  }

  LayerState rnn(const Direction& own, size_t step, const LayerState& state) {
    const Name from_state =
        state.hidden.empty() ? Name() : let("MatMul", state.hidden, own.recurrence);
    return {activated(own.functions[0], clipped(sum(own.steps[step], from_state))), ""};
  }

  LayerState gru(const Direction& own, size_t step, const LayerState& state) {
    const Name& h = state.hidden;
    const Name from_state = h.empty() ? Name() : let("MatMul", h, own.recurrence);
    const Name gates = activated(own.functions[0], clipped(sum(own.steps[step], from_state)));
    const std::vector<Name> parts = split(gates, 2, {hidden_, hidden_});
    Name late;
    if (int_of(context_, "linear_before_reset", 0) != 0) {
      late = sum(h.empty() ? Name() : let("MatMul", h, own.late_recurrence), own.late_bias);
      if (!late.empty()) late = let("Mul", parts[1], late);
    } else if (!h.empty()) {
      late = let("MatMul", let("Mul", parts[1], h), own.late_recurrence);
    }
    const Name fresh = activated(own.functions[1], clipped(sum(own.late[step], late)));
    const Name taken = let("Mul", let("Sub", one_, parts[0]), fresh);
    return {sum(taken, h.empty() ? Name() : let("Mul", parts[0], h)), ""};
  }

  /// Gates: input, output, forget, cell.
  LayerState lstm(const Direction& own, size_t step, const LayerState& state) {
    const Name from_state =
        state.hidden.empty() ? Name() : let("MatMul", state.hidden, own.recurrence);
    std::vector<Name> gates =
        split(sum(own.steps[step], from_state), 2, {hidden_, hidden_, hidden_, hidden_});
    const auto look = [&](size_t gate, const Name& cell) {
      if (!own.peepholes.empty() && !cell.empty())
        gates[gate] = sum(gates[gate], let("Mul", own.peepholes[gate], cell));
    };
    look(0, state.cell);
    look(2, state.cell);
    const Name input = activated(own.functions[0], clipped(gates[0]));
    const bool is_coupled = int_of(context_, "input_forget", 0) != 0;
    const Name forget =
        is_coupled ? let("Sub", one_, input) : activated(own.functions[0], clipped(gates[2]));
    const Name taken = let("Mul", input, activated(own.functions[1], clipped(gates[3])));
    const Name cell = sum(taken, state.cell.empty() ? Name() : let("Mul", forget, state.cell));
    look(1, cell);
    const Name output = activated(own.functions[0], clipped(gates[1]));
    // The cell itself is not clipped.
    return {let("Mul", output, activated(own.functions[2], cell)), cell};
  }

  Name clipped(const Name& x) {
    const float limit = float_of(context_, "clip", 0);
    if (limit <= 0) return x;
    if (low_.empty()) {
      low_ = typed(-limit);
      high_ = typed(limit);
    }
    return let("Clip(" + x + ", " + low_ + ", " + high_ + ")");
  }

  Name activated(const CellFunction& function, const Name& x) {
    const std::string& name = function.name;
    const auto line = [&](const Name& value) {
      return let("Add", let("Mul", value, typed(function.alpha)), typed(function.beta));
    };
    if (name == "relu") return let("Relu", x);
    if (name == "tanh") return let("Tanh", x);
    if (name == "sigmoid") return let("Sigmoid", x);
    if (name == "softsign") return let("Softsign", x);
    if (name == "softplus") return let("Softplus", x);
    if (name == "leakyrelu") return let("LeakyRelu", x, function.alpha);
    if (name == "elu") return let("Elu", x, function.alpha);
    if (name == "thresholdedrelu") return let("ThresholdedRelu", x, function.alpha);
    if (name == "affine") return line(x);
    if (name == "hardsigmoid") return let("Clip(" + line(x) + ", " + zero_ + ", " + one_ + ")");
    const Name inner = let("Tanh", let("Mul", x, typed(function.beta)));
    return let("Mul", inner, typed(function.alpha));
  }

  void write_outputs(const std::vector<std::vector<Name>>& outputs,
                     const std::vector<LayerState>& states) {
    std::vector<Name> sequences;
    std::vector<Name> hidden;
    std::vector<Name> cells;
    for (size_t d = 0; d < directions_; ++d) {
      sequences.push_back(let("Unsqueeze", joined(outputs[d], 0), "second"));
      hidden.push_back(states[d].hidden);
      cells.push_back(states[d].cell);
    }
    const char* const perms[] = {"[2, 0, 1, 3]", "[1, 0, 2]", "[1, 0, 2]"};
    const std::vector<Name> results[] = {sequences, hidden, cells};
    for (int i = 0; i < node_.output_size(); ++i) {
      if (node_.output(i).empty()) continue;
      const std::string op =
          is_batch_first_ ? std::string("Transpose<perm = ") + perms[i] + ">" : "Identity";
      add("y" + std::to_string(i) + " = " + op + "(" + joined(results[i], i == 0 ? 1 : 0) + ")");
    }
  }

  const onnx::NodeProto& node_;
  const BodyContext& context_;
  const Cell& cell_;
  bool is_batch_first_ = false;
  bool starts_at_end_ = false;
  size_t directions_ = 1;
  int64_t steps_ = 0;
  int64_t hidden_ = 0;
  std::vector<CellFunction> functions_;
  Name zero_;
  Name one_;
  Name low_;  ///< -clip and clip, once they are needed
  Name high_;
  int count_ = 0;
};

}  // namespace

std::optional<onnx::FunctionProto> unrolled_layer(const onnx::NodeProto& node,
                                                  const BodyContext& context) {
  const Cell* cell = node.domain().empty() ? find_cell(node.op_type()) : nullptr;
  if (!cell) return std::nullopt;
  onnx::FunctionProto body;
  for (int i = 0; i < node.input_size(); ++i) body.add_input("x" + std::to_string(i));
  for (int i = 0; i < node.output_size(); ++i) body.add_output("y" + std::to_string(i));
  UnrolledLayer(body, node, context, *cell).build();
  return body;
}

}  // namespace gantry
