// SPDX-License-Identifier: Apache-2.0
#include "eltwise/int8_lookup_match.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "eltwise/program.h"
#include "fuse/activation.h"
#include "fuse/constants.h"

namespace gantry::x86 {
namespace {

constexpr size_t kMostNodesOfFunction =
    64;  // of a function; exporters' longest patterns have some twenty

using Floats = std::array<float, kInt8Values>;

bool is_standard(const sdk::NodeView& node, std::string_view op_type) {
  return node.op_type() == op_type && node.domain().empty();
}
bool is_quantize(const sdk::NodeView& node) { return is_standard(node, "QuantizeLinear"); }
bool is_dequantize(const sdk::NodeView& node) { return is_standard(node, "DequantizeLinear"); }
bool is_erf(const sdk::NodeView& node) {
  return is_standard(node, "Erf") && node.output(0).dtype() == GANTRY_FLOAT;
}

/// True of a constant scalar that does not raise the rank of a tensor of `rank` axes.
bool is_number(const sdk::ValueView& value, int rank) {
  return value.is_constant() && element_count(value) == 1 && value.rank() <= rank;
}

/// Number of a node's leading inputs that are not parameters; 0: it is not element-wise.
uint32_t operands_of(const sdk::GraphIndex& index, uint32_t node) {
  const sdk::NodeView view = index.node(node);
  if (is_erf(view)) return 1;
  if (view.output(0).dtype() == GANTRY_FLOAT && activation_of(view)) return 1;
  const auto what = elementwise_of(index, node);
  return what ? what->operands : 0;
}

/// Searches for a function backwards from its last node.
class Search {
 public:
  Search(const sdk::GraphIndex& index, const std::function<bool(uint32_t)>& may_take, uint32_t last)
      : index_(index), may_take_(may_take), last_(last) {}

  std::optional<Int8Lookup> run() {
    if (!takes_quantize(last_)) return std::nullopt;
    rank_ = index_.node(last_).input(0).rank();
    std::optional<Int8Lookup> found;
    uint32_t next = last_;
    while (take_down_to_bytes(next)) {
      if (is_function())
        found = Int8Lookup{{nodes_.begin(), nodes_.end()}, *leaves_.begin(), target()};
      next = next_quantize();
      if (next == GANTRY_NONE) break;
    }
    return found;
  }

 private:
  [[nodiscard]] uint32_t target() const { return index_.raw(last_).outputs[0]; }

  [[nodiscard]] bool takes_quantize(uint32_t node) const {
    const sdk::NodeView view = index_.node(node);
    return may_take_(node) && is_quantize(view) && quantization_of(view).has_value() &&
           view.input(0).rank() >= 0;
  }

  /// Takes a QuantizeLinear and the nodes before it, back to int8 tensors. False: the nodes depend
  /// on other tensors too.
  bool take_down_to_bytes(uint32_t quantize) {
    leaves_.erase(index_.raw(quantize).outputs[0]);
    nodes_.insert(quantize);
    return take_float(index_.raw(quantize).inputs[0]);
  }

  bool take_float(uint32_t value) {
    if (is_number(index_.value(value), rank_)) return true;
    const uint32_t node = index_.producer(value);
    if (node == GANTRY_NONE || index_.raw(node).outputs[0] != value || !may_take_(node))
      return false;
    if (!nodes_.insert(node).second) return true;
    if (nodes_.size() > kMostNodesOfFunction) return false;
    const sdk::NodeView view = index_.node(node);
    if (is_dequantize(view)) {
      if (!quantization_of(view)) return false;
      const uint32_t bytes = index_.raw(node).inputs[0];
      if (is_number(index_.value(bytes), rank_)) return true;
      if (index_.value(bytes).is_constant()) return false;
      leaves_.insert(bytes);
      return true;
    }
    const uint32_t operands = operands_of(index_, node);
    for (uint32_t i = 0; i < operands; ++i) {
      if (!take_float(index_.raw(node).inputs[i])) return false;
    }
    return operands > 0;
  }

  /// True if all nodes depend on one tensor, and only the last result is read outside.
  [[nodiscard]] bool is_function() const {
    if (leaves_.size() != 1) return false;
    return std::all_of(nodes_.begin(), nodes_.end(), [&](uint32_t node) {
      return node == last_ || is_inner(index_.raw(node).outputs[0]);
    });
  }
  [[nodiscard]] bool is_inner(uint32_t value) const {
    if (index_.is_output(value)) return false;
    const std::vector<uint32_t> readers = index_.readers(value);
    return std::all_of(readers.begin(), readers.end(),
                       [&](uint32_t reader) { return nodes_.count(reader) != 0; });
  }

  /// Of the leaves' producers, the last QuantizeLinear that may belong to the function too.
  [[nodiscard]] uint32_t next_quantize() const {
    uint32_t found = GANTRY_NONE;
    for (const uint32_t leaf : leaves_) {
      const uint32_t node = index_.producer(leaf);
      if (node == GANTRY_NONE || !takes_quantize(node) || !is_inner(leaf)) continue;
      if (found == GANTRY_NONE || node > found) found = node;
    }
    return found;
  }

  const sdk::GraphIndex& index_;
  const std::function<bool(uint32_t)>& may_take_;
  uint32_t last_;
  int rank_ = 0;
  std::set<uint32_t> nodes_;
  std::set<uint32_t> leaves_;  // values of int8
};

/// Computes each value inside a function for all 256 inputs.
class Evaluation {
 public:
  explicit Evaluation(const sdk::GraphIndex& index) : index_(index) {}

  /// Requires a node whose result is not int8.
  void run(uint32_t node) {
    const sdk::NodeView view = index_.node(node);
    const gantry_node& raw = index_.raw(node);
    Floats& result = values_[raw.outputs[0]];
    if (is_dequantize(view)) {
      dequantize(view, raw, result);
    } else if (const auto what = elementwise_of(index_, node)) {
      Floats first = floats(raw.inputs[0]);
      Floats second = what->operands > 1 ? floats(raw.inputs[1]) : first;
      float* const slots[] = {first.data(), second.data(), result.data()};
      run_instructions({{what->operation, 0, 1, 2, what->alpha, what->beta}}, slots, kInt8Values);
    } else if (is_erf(view)) {
      const Floats operand = floats(raw.inputs[0]);
      std::transform(operand.begin(), operand.end(), result.begin(),
                     [](float x) { return std::erf(x); });
    } else {
      result = floats(raw.inputs[0]);
      activate(*activation_of(view), result);
    }
  }

  /// Evaluates a QuantizeLinear.
  void quantize(uint32_t node) {
    const gantry_node& raw = index_.raw(node);
    bytes_[raw.outputs[0]] =
        bytes_of_floats(floats(raw.inputs[0]), *quantization_of(index_.node(node)));
  }
  [[nodiscard]] const LookupTable& bytes(uint32_t value) const { return bytes_.at(value); }
  void start(uint32_t source) {
    LookupTable& numbers = bytes_[source];
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint8_t>(i);
  }

 private:
  void dequantize(const sdk::NodeView& view, const gantry_node& raw, Floats& result) const {
    const Floats meanings = floats_of_bytes(*quantization_of(view));
    if (const gantry_tensor* constant = view.input(0).constant()) {
      result.fill(meanings[*static_cast<const uint8_t*>(constant->data)]);
      return;
    }
    const LookupTable& numbers = bytes_.at(raw.inputs[0]);
    std::transform(numbers.begin(), numbers.end(), result.begin(),
                   [&](uint8_t number) { return meanings[number]; });
  }

  [[nodiscard]] Floats floats(uint32_t value) const {
    const auto found = values_.find(value);
    if (found != values_.end()) return found->second;
    Floats all{};
    all.fill(*scalar_of(index_.value(value)));
    return all;
  }

  static void activate(const Activation& activation, Floats& floats) {
    with_threads(1, [&] {
      const Desc desc = desc_f32({kInt8Values}, Tag::a);
      const dnnl::eltwise_forward::primitive_desc description(
          engine(), dnnl::prop_kind::forward_inference, activation.algorithm, desc, desc,
          activation.alpha, activation.beta);
      report_implementation("a lookup table", description.get());
      const dnnl::memory memory(desc, engine(), floats.data());
      dnnl::stream stream(engine());
      dnnl::eltwise_forward(description)
          .execute(stream, {{DNNL_ARG_SRC, memory}, {DNNL_ARG_DST, memory}});
    });
  }

  const sdk::GraphIndex& index_;
  std::map<uint32_t, Floats> values_;
  std::map<uint32_t, LookupTable> bytes_;  // value -> its bytes, indexed by the function's input
};

}  // namespace

std::optional<Int8Lookup> int8_lookup_at(const sdk::GraphIndex& index, uint32_t last,
                                         const std::function<bool(uint32_t)>& may_take) {
  return Search(index, may_take, last).run();
}

LookupTable table_of(const sdk::GraphIndex& index, const Int8Lookup& function) {
  Evaluation evaluation(index);
  evaluation.start(function.source);
  for (const uint32_t node : function.nodes) {
    if (is_quantize(index.node(node))) {
      evaluation.quantize(node);
    } else {
      evaluation.run(node);
    }
  }
  return evaluation.bytes(function.target);
}

}  // namespace gantry::x86
