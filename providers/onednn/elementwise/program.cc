// SPDX-License-Identifier: Apache-2.0
#include "elementwise/program.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>

#include "chain.h"
#include "constants.h"

namespace gantry::onednn {
namespace {

constexpr size_t kMostNodes = 4096;  // of a set

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

/// What the passes of the host raise to one operator, which is worth more than a set: the Tanh of a
/// GELU, the Clip of a HardSwish, the division by the deviation of a normalisation.
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

/// Gives places to values while they are wanted.
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
      places_[program_.results[i]] = static_cast<uint32_t>(program_.operands.size() + i);
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
      if (makers_.count(value) != 0 || places_.count(value) != 0) continue;
      places_[value] = static_cast<uint32_t>(program_.operands.size());
      program_.operands.push_back(
          {value, has_same_shape(index_, value, index_.raw(node).outputs[0])});
    }
  }

  void release(uint32_t value, size_t at) {
    const uint32_t place = places_.at(value);
    if (place >= first_buffer_ && last_use_.at(value) == at) free_.push_back(place);
  }

  void add_instruction(size_t at) {
    const gantry_node& raw = index_.raw(nodes_[at]);
    const Elementwise what = *elementwise_of(index_, nodes_[at]);
    Instruction made;
    made.operation = what.operation;
    made.alpha = what.alpha;
    made.beta = what.beta;
    made.a = places_.at(raw.inputs[0]);
    made.b = what.operands > 1 ? places_.at(raw.inputs[1]) : made.a;
    release(raw.inputs[0], at);
    if (what.operands > 1 && raw.inputs[1] != raw.inputs[0]) release(raw.inputs[1], at);
    const uint32_t value = raw.outputs[0];
    if (places_.count(value) == 0) {
      if (free_.empty()) free_.push_back(first_buffer_ + static_cast<uint32_t>(program_.buffers++));
      places_[value] = free_.back();
      free_.pop_back();
    }
    made.to = places_.at(value);
    program_.instructions.push_back(made);
  }

  const sdk::GraphIndex& index_;
  const std::vector<uint32_t>& nodes_;
  ElementwiseProgram program_;
  std::map<uint32_t, size_t> makers_;    // value -> position of the node that makes it
  std::map<uint32_t, size_t> last_use_;  // value -> position of the last node that reads it
  std::map<uint32_t, uint32_t> places_;
  std::vector<uint32_t> free_;
  uint32_t first_buffer_ = 0;
};

/// Parts eligible nodes into stages: an edge over which nodes cannot be joined leads to a later
/// one, so that no way out of a stage leads back to it.
class Grouper {
 public:
  Grouper(const sdk::GraphIndex& index, const std::function<bool(uint32_t)>& may_take)
      : index_(index),
        stages_(index.graph().node_count, 0),
        sets_(index.graph().node_count, GANTRY_NONE) {
    const uint32_t count = index.graph().node_count;
    for (uint32_t node = 0; node < count; ++node) {
      is_eligible_.push_back(may_take(node) && elementwise_of(index, node) &&
                             !is_part_of_more(index, node));
    }
  }

  std::vector<std::vector<uint32_t>> run() {
    for (uint32_t node = 0; node < is_eligible_.size(); ++node) {
      set_stage(node);
      if (is_eligible_[node]) join(node);
    }
    std::vector<std::vector<uint32_t>> found;
    for (std::vector<uint32_t>& members : members_) {
      if (members.size() < 2) continue;
      std::sort(members.begin(), members.end());
      found.push_back(std::move(members));
    }
    return found;
  }

 private:
  template <class Body>
  void for_each_maker(uint32_t node, Body&& body) const {
    const gantry_node& raw = index_.raw(node);
    for (uint32_t i = 0; i < raw.input_count + raw.capture_count; ++i) {
      const uint32_t maker =
          index_.producer(i < raw.input_count ? raw.inputs[i] : raw.captures[i - raw.input_count]);
      if (maker != GANTRY_NONE) body(maker);
    }
  }

  [[nodiscard]] bool can_join(uint32_t maker, uint32_t node) const {
    return is_eligible_[maker] && is_eligible_[node] &&
           has_same_shape(index_, index_.raw(maker).outputs[0], index_.raw(node).outputs[0]);
  }

  void set_stage(uint32_t node) {
    for_each_maker(node, [&](uint32_t maker) {
      stages_[node] = std::max(stages_[node], stages_[maker] + (can_join(maker, node) ? 0 : 1));
    });
  }

  void join(uint32_t node) {
    for_each_maker(node, [&](uint32_t maker) {
      if (stages_[maker] != stages_[node] || !can_join(maker, node)) return;
      const uint32_t from = sets_[node];
      const uint32_t to = sets_[maker];
      if (from == to) return;
      const size_t size = members_[to].size() + (from == GANTRY_NONE ? 1 : members_[from].size());
      if (size > kMostNodes) return;
      if (from == GANTRY_NONE) {
        add(node, to);
        return;
      }
      for (const uint32_t member : members_[from]) add(member, to);
      members_[from].clear();
    });
    if (sets_[node] != GANTRY_NONE) return;
    members_.emplace_back();
    add(node, static_cast<uint32_t>(members_.size() - 1));
  }

  void add(uint32_t node, uint32_t set) {
    sets_[node] = set;
    members_[set].push_back(node);
  }

  const sdk::GraphIndex& index_;
  std::vector<bool> is_eligible_;
  std::vector<int> stages_;  // by node
  std::vector<uint32_t> sets_;
  std::vector<std::vector<uint32_t>> members_;
};

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
  return Grouper(index, may_take).run();
}

ElementwiseProgram program_of(const sdk::GraphIndex& index, const std::vector<uint32_t>& nodes,
                              const std::vector<uint32_t>& results) {
  return Writer(index, nodes, results).run();
}

}  // namespace gantry::onednn
