// SPDX-License-Identifier: Apache-2.0
#include "eltwise/program.h"

#include <gantry/sdk/elementwise_groups.h>
#include <gantry/sdk/pattern.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>

#include "fuse/constants.h"
#include "fuse/epilogue.h"

namespace gantry::x86 {
namespace {

constexpr size_t kMostNodesOfSet = 4096;  // of a set

struct Named {
  std::string_view op;
  int first_version;
  Operation operation;
};
constexpr std::array kPairs = {
    Named{"Add", 7, Operation::kAdd}, Named{"Sub", 7, Operation::kSub},
    Named{"Mul", 7, Operation::kMul}, Named{"Div", 7, Operation::kDiv},
    Named{"Sum", 8, Operation::kAdd}, Named{"Max", 8, Operation::kMax},
    Named{"Min", 8, Operation::kMin},
};
constexpr std::array kSingles = {
    Named{"Neg", 1, Operation::kNeg},         Named{"Abs", 1, Operation::kAbs},
    Named{"Sqrt", 1, Operation::kSqrt},       Named{"Reciprocal", 1, Operation::kReciprocal},
    Named{"Exp", 1, Operation::kExp},         Named{"Relu", 1, Operation::kRelu},
    Named{"Sigmoid", 1, Operation::kSigmoid}, Named{"Tanh", 1, Operation::kTanh},
};

template <class Table>
const Named* find(const Table& table, const sdk::NodeView& node) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Named& named) {
    return named.op == node.op_type() && node.since_version() >= named.first_version;
  });
  return found == table.end() ? nullptr : &*found;
}

/// True of a node of a pattern that the host's passes fuse into one operator, which is better than
/// a set: the Tanh of a GELU, the Clip of a HardSwish, the Div of a normalisation.
bool is_part_of_more(const sdk::GraphIndex& index, uint32_t node) {
  const sdk::NodeView view = index.node(node);
  const auto is = [&](uint32_t other, std::string_view op) {
    return other != GANTRY_NONE && index.node(other).op_type() == op;
  };
  if (view.op_type() == "Tanh") return is(index.only_reader(index.raw(node).outputs[0]), "Add");
  if (view.op_type() == "Clip") return is(index.producer(index.raw(node).inputs[0]), "Add");
  return view.op_type() == "Div" && is(index.producer(index.raw(node).inputs[1]), "Sqrt");
}

std::optional<Elementwise> with_numbers(const sdk::NodeView& node) {
  const std::string_view op = node.op_type();
  if (op == "LeakyRelu")
    return Elementwise{Operation::kLeakyRelu, node.get_float("alpha", 0.01F), 0, 1};
  if (op == "HardSigmoid") {
    return Elementwise{Operation::kHardSigmoid, node.get_float("alpha", 0.2F),
                       node.get_float("beta", 0.5F), 1};
  }
  if (op == "HardSwish") return Elementwise{Operation::kHardSwish, 1.0F / 6.0F, 0.5F, 1};
  if (op == "Gelu" && node.get_string("approximate", "none") == "tanh")
    return Elementwise{Operation::kGelu, 0, 0, 1};
  if (op == "Pow") {
    const auto exponent =
        node.input(1).is_constant() && is_constant_f32(node.input(1)) && node.input(1).rank() == 0
            ? scalar_of(node.input(1))
            : std::nullopt;
    if (exponent == 2.0F) return Elementwise{Operation::kSquare, 0, 0, 1};
    if (exponent == 3.0F) return Elementwise{Operation::kCube, 0, 0, 1};
  }
  if (op == "Clip" && node.since_version() >= 11) {
    const auto clip = activation_of(node);
    if (clip) return Elementwise{Operation::kClip, clip->alpha, clip->beta, 1};
  }
  return std::nullopt;
}

/// Writes the program; assigns slots to values as long as they are live.
class Writer {
 public:
  Writer(const sdk::GraphIndex& index, const std::vector<uint32_t>& nodes,
         const std::vector<uint32_t>& results)
      : index_(index), nodes_(nodes) {
    program_.results = results;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const uint32_t made = index.raw(nodes[i]).outputs[0];
      makers_[made] = i;
      const uint32_t operands = elementwise_of(index, nodes[i])->operands;
      for (uint32_t k = 0; k < operands; ++k) last_use_[index.raw(nodes[i]).inputs[k]] = i;
    }
  }

  ElementwiseProgram run() {
    for (const uint32_t node : nodes_) add_operands(node);
    for (size_t i = 0; i < program_.results.size(); ++i)
      slots_[program_.results[i]] = static_cast<uint32_t>(program_.operands.size() + i);
    first_buffer_ = static_cast<uint32_t>(program_.operands.size() + program_.results.size());
    for (size_t i = 0; i < nodes_.size(); ++i) add_instruction(i);
    const auto last = index_.raw(nodes_.back()).outputs[0];
    program_.may_overwrite = program_.results.size() == 1 && program_.results[0] == last;
    return std::move(program_);
  }

 private:
  void add_operands(uint32_t node) {
    const uint32_t operands = elementwise_of(index_, node)->operands;
    for (uint32_t k = 0; k < operands; ++k) {
      const uint32_t value = index_.raw(node).inputs[k];
      if (makers_.count(value) != 0 || slots_.count(value) != 0) continue;
      slots_[value] = static_cast<uint32_t>(program_.operands.size());
      program_.operands.push_back(
          {value, sdk::has_equal_extents(index_, value, index_.raw(node).outputs[0])});
    }
  }

  void release(uint32_t value, size_t at) {
    const uint32_t slot = slots_.at(value);
    if (slot >= first_buffer_ && last_use_.at(value) == at) free_.push_back(slot);
  }

  void add_instruction(size_t at) {
    const gantry_node& raw = index_.raw(nodes_[at]);
    const Elementwise what = *elementwise_of(index_, nodes_[at]);
    Instruction made;
    made.operation = what.operation;
    made.alpha = what.alpha;
    made.beta = what.beta;
    made.a = slots_.at(raw.inputs[0]);
    made.b = what.operands > 1 ? slots_.at(raw.inputs[1]) : made.a;
    release(raw.inputs[0], at);
    if (what.operands > 1 && raw.inputs[1] != raw.inputs[0]) release(raw.inputs[1], at);
    const uint32_t value = raw.outputs[0];
    if (slots_.count(value) == 0) {
      if (free_.empty()) free_.push_back(first_buffer_ + static_cast<uint32_t>(program_.buffers++));
      slots_[value] = free_.back();
      free_.pop_back();
    }
    made.to = slots_.at(value);
    program_.instructions.push_back(made);
  }

  const sdk::GraphIndex& index_;
  const std::vector<uint32_t>& nodes_;
  ElementwiseProgram program_;
  std::map<uint32_t, size_t> makers_;    // value -> position of the node that makes it
  std::map<uint32_t, size_t> last_use_;  // value -> position of the last node that reads it
  std::map<uint32_t, uint32_t> slots_;
  std::vector<uint32_t> free_;
  uint32_t first_buffer_ = 0;
};

sdk::ElementwiseRules rules_of(const sdk::GraphIndex& index,
                               const std::function<bool(uint32_t)>& may_take) {
  sdk::ElementwiseRules rules;
  rules.may_fuse = [&index, &may_take](uint32_t node) {
    return may_take(node) && elementwise_of(index, node) && !is_part_of_more(index, node);
  };
  rules.may_join = [&index](uint32_t producer, uint32_t reader) {
    return sdk::has_equal_extents(index, sdk::result_of(index, producer),
                                  sdk::result_of(index, reader));
  };
  rules.max_nodes = kMostNodesOfSet;
  return rules;
}

}  // namespace

std::optional<Elementwise> elementwise_of(const sdk::GraphIndex& index, uint32_t node) {
  const sdk::NodeView view = index.node(node);
  if (!view.domain().empty() || view.output_count() != 1 || !view.output(0).present())
    return std::nullopt;
  std::optional<Elementwise> what;
  if (const Named* pair = find(kPairs, view); pair && view.input_count() == 2) {
    what = Elementwise{pair->operation, 0, 0, 2};
  } else if (const Named* single = find(kSingles, view)) {
    what = Elementwise{single->operation, 0, 0, 1};
  } else {
    what = with_numbers(view);
  }
  if (!what || view.output(0).dtype() != GANTRY_FLOAT || view.output(0).rank() < 0 ||
      view.output(0).rank() > 8)
    return std::nullopt;
  for (uint32_t i = 0; i < what->operands; ++i) {
    const sdk::ValueView operand = view.input(static_cast<int>(i));
    if (operand.dtype() != GANTRY_FLOAT || operand.rank() < 0) return std::nullopt;
  }
  return what;
}

std::vector<std::vector<uint32_t>> elementwise_sets(const sdk::GraphIndex& index,
                                                    const std::function<bool(uint32_t)>& may_take) {
  sdk::ElementwiseGroups groups = sdk::elementwise_groups(index, rules_of(index, may_take));
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const std::vector<uint32_t>& nodes) { return nodes.size() < 2; }),
               groups.end());
  return groups;
}

std::vector<uint32_t> elementwise_set_at(const sdk::GraphIndex& index,
                                         const std::function<bool(uint32_t)>& may_take,
                                         uint32_t root) {
  if (!elementwise_of(index, root)) return {};
  return sdk::elementwise_group_at(index, rules_of(index, may_take), root);
}

Fusion elementwise_fusion(const sdk::GraphIndex& index, const std::vector<uint32_t>& nodes) {
  Fusion fusion = single_node_fusion(index, nodes.front());
  fusion.nodes = nodes;
  const std::vector<uint32_t> results = index.output_slots(nodes);
  fusion.target.value = results.back();
  const ElementwiseProgram program = program_of(index, nodes, results);
  if (!program.may_overwrite) return fusion;
  const auto found =
      std::find_if(program.operands.begin(), program.operands.end(), [&](const auto& operand) {
        return operand.is_whole && !index.value(operand.value).is_constant();
      });
  if (found != program.operands.end()) fusion.addend.value = found->value;
  return fusion;
}

ElementwiseProgram program_of(const sdk::GraphIndex& index, const std::vector<uint32_t>& nodes,
                              const std::vector<uint32_t>& results) {
  return Writer(index, nodes, results).run();
}

}  // namespace gantry::x86
