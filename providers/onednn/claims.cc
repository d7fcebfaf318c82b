// SPDX-License-Identifier: Apache-2.0
#include "claims.h"

#include <gantry/sdk/provider.h>
#include <gantry/sdk/work.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "attention/pattern.h"
#include "bytes/function.h"
#include "direct/depthwise_block.h"
#include "elementwise/program.h"
#include "families.h"
#include "options.h"
#include "rounding.h"

namespace gantry::onednn {
namespace {

/// Channels-last of ranks 3 to 5, as the boundary says it.
const gantry_format& format_of(int rank) {
  static const auto formats = [] {
    std::array<gantry_format, 6> all{};
    for (uint32_t rank = 3; rank < all.size(); ++rank) {
      gantry_format& format = all[rank];
      format.size = sizeof(format);
      format.rank = rank;
      for (uint32_t i = 1; i + 1 < rank; ++i) format.order[i] = i + 1;
      format.order[rank - 1] = 1;
    }
    return all;
  }();
  return formats.at(static_cast<size_t>(rank));
}

/// Answers the claim question for one graph.
class Claimer {
 public:
  Claimer(const gantry_host* host, const gantry_claim_request& request)
      : request_(request),
        options_(request.options),
        index_(host, *request.graph),
        is_taken_(request.graph->node_count, false),
        is_in_block_(request.graph->node_count, false),
        is_channels_last_(request.graph->value_count, false) {}

  void run() {
    const uint32_t count = request_.graph->node_count;
    std::vector<ByteFunction> functions(count);  // by their last node
    for (uint32_t node = count; node-- > 0;) {   // the largest first
      auto found =
          byte_function_at(index_, node, [this](uint32_t other) { return !is_taken_[other]; });
      if (!found) continue;
      for (const uint32_t n : found->nodes) is_taken_[n] = true;
      functions[node] = std::move(*found);
    }
    // What reads numbers of 8 bits takes nodes that stand before it.
    std::vector<Unit> quantized(count);
    for (uint32_t node = 0; node < count; ++node) {
      const Family* family = is_taken_[node] ? nullptr : family_of_anchor(node);
      if (!family || !family->traits) continue;
      Unit unit = unit_of(index_, node, family->traits(index_, node),
                          [this](uint32_t other) { return !is_taken_[other]; });
      if (!unit.is_quantized() || !family->refusal(index_, unit).empty()) continue;
      for (const uint32_t n : unit.nodes) is_taken_[n] = true;
      quantized[node] = std::move(unit);
    }
    for (uint32_t node = 0; node < count; ++node) {
      if (!quantized[node].nodes.empty()) {
        claim_unit(quantized[node]);
      } else if (!functions[node].nodes.empty()) {
        claim_function(functions[node]);
      } else if (!is_taken_[node]) {
        take(node);
      }
    }
    take_tensor_products();
    take_sets();
    for (const auto& [node, reason] : refusals_) {
      if (!is_taken_[node]) request_.sink->refuse(request_.sink->self, node, sdk::to_str(reason));
    }
  }

 private:
  /// The family that a node can be the anchor of; null: none.
  [[nodiscard]] const Family* family_of_anchor(uint32_t node) const {
    const sdk::NodeView view = index_.node(node);
    // Of a recurrent layer perhaps only the last state counts.
    const uint32_t outputs = is_recurrent(view.op_type()) ? view.output_count() : 1;
    bool has_output = false;
    for (uint32_t i = 0; i < outputs; ++i) has_output = has_output || view.output(i).present();
    if (!view.input(0).present() || !has_output) return nullptr;
    if (view.domain() == "com.microsoft" && view.op_type() == "MatMulNBits")
      return &kFamilies[kBlockProduct];
    if (!view.domain().empty()) return nullptr;
    return &kFamilies[family_of(view.op_type())];
  }

  [[nodiscard]] bool is_channels_last(const std::vector<InputSlot>& slots) const {
    return std::any_of(slots.begin(), slots.end(), [&](const InputSlot& slot) {
      return slot.value != GANTRY_NONE && is_channels_last_[slot.value];
    });
  }

  void take(uint32_t node) {
    const Family* family = family_of_anchor(node);
    if (!family) {
      return refuse(node, "no kernel for operator " + std::string(index_.node(node).op_type()));
    }
    if (take_attention(node)) return;
    claim_depthwise_block(node);
    const Unit one = unit_of_one(index_, node);
    // In floats: what could be done in 8 bits is taken already.
    const auto may_take = [&](uint32_t other) {
      return !is_taken_[other] && index_.node(other).op_type() != "DequantizeLinear";
    };
    Unit unit =
        family->traits ? unit_of(index_, node, family->traits(index_, node), may_take) : one;
    unit.rounds_to_bf16 = is_worth_rounding(index_, unit, options_);
    if (is_depthwise_here(index_, unit)) take_shuffle(index_, unit, may_take);
    std::string reason = family->refusal(index_, unit);
    if (!reason.empty() && unit.nodes.size() > 1) {  // perhaps without what is around it
      unit = unit_of(index_, node, family->traits(index_, node), [](uint32_t) { return false; });
      reason = family->refusal(index_, unit);
    }
    if (!reason.empty()) return refuse(node, reason);
    const bool needs_format = family->needs_format || is_reduction(index_.node(node).op_type());
    if (needs_format && !is_channels_last(index_.input_slots(one.nodes)))
      return refuse(node, "taken only behind a kernel whose result is channels-last");
    if (!unit.is_quantized() && !is_channels_last(index_.input_slots(one.nodes))) {
      if (has_large_plane(node))
        return refuse(node, "the library is slow at one result of a large plane in dense order");
      if (has_unusual_windows(node))
        return refuse(node, "the library is slow at windows of one or three axes in dense order");
    }
    claim_unit(unit);
    if (unit.nodes.size() == 1) return;
    // By itself too, for when the set is not granted.
    Unit alone =
        unit_of(index_, node, family->traits(index_, node), [](uint32_t) { return false; });
    alone.rounds_to_bf16 = unit.rounds_to_bf16;
    claim_unit(alone);
    is_channels_last_[unit.target.value] = is_channels_last_[one.target.value];
  }

  /// True of one result for a plane of many elements, as far as is known.
  [[nodiscard]] bool has_large_plane(uint32_t node) const {
    constexpr int64_t kManyElements = 128;
    const std::string_view op = index_.node(node).op_type();
    if (op != "GlobalMaxPool" && op != "GlobalAveragePool") return false;
    const sdk::ValueView source = index_.node(node).input(0);
    int64_t elements = 1;
    for (int axis = 2; axis < source.rank(); ++axis)
      elements *= std::max<int64_t>(source.extent(axis), 0);
    return elements >= kManyElements;
  }

  /// True of a pool over other than two axes.
  [[nodiscard]] bool has_unusual_windows(uint32_t node) const {
    const std::string_view op = index_.node(node).op_type();
    return (op == "MaxPool" || op == "AveragePool") && index_.node(node).input(0).rank() != 4;
  }

  /// An Attention, or the nodes around a Softmax; false: they are none that is taken.
  bool take_attention(uint32_t node) {
    const auto attention =
        attention_at(index_, node, [this](uint32_t other) { return !is_taken_[other]; });
    if (!attention) return false;
    Unit unit = unit_of_one(index_, node);
    unit.nodes = attention->nodes;
    unit.target.value = attention->target.value;
    claim(kFamilies[kAttention], unit, false);
    for (const uint32_t n : unit.nodes) is_taken_[n] = true;
    return true;
  }

  /// The convolutions around a depthwise one; each is claimed by itself too, for when the block is
  /// not granted.
  void claim_depthwise_block(uint32_t node) {
    const auto may_take = [&](uint32_t other) { return !is_taken_[other] && !is_in_block_[other]; };
    const auto unit_of_conv = [&](uint32_t other) -> std::optional<Unit> {
      if (!may_take(other) || family_of_anchor(other) != &kFamilies[kConv] ||
          index_.node(other).op_type() != "Conv")
        return std::nullopt;
      Unit unit = unit_of(index_, other, conv_traits(index_, other), may_take);
      unit.rounds_to_bf16 = is_worth_rounding(index_, unit, options_);
      return unit;
    };
    const auto block = depthwise_block_at(index_, node, unit_of_conv);
    if (!block) return;
    const Unit whole = block->whole();
    claim(kFamilies[kDepthwiseBlock], whole, true);
    for (const uint32_t n : whole.nodes) is_in_block_[n] = true;
  }

  void claim_function(const ByteFunction& function) {
    Unit unit = unit_of_one(index_, function.nodes.front());
    unit.nodes = function.nodes;
    unit.target.value = function.target;
    claim(kFamilies[kByteFunction], unit, is_channels_last_[function.source]);
    is_channels_last_[function.target] = is_channels_last_[function.source];
  }

  /// Products that are no part of an attention, which has been looked for now.
  void take_tensor_products() {
    const Family& family = kFamilies[kTensorProduct];
    for (uint32_t node = 0; node < request_.graph->node_count; ++node) {
      if (is_taken_[node] || family_of_anchor(node) != &kFamilies[kProduct] ||
          index_.node(node).op_type() == "QLinearMatMul")
        continue;
      const AnchorTraits traits = family.traits(index_, node);
      const Unit unit = unit_of(index_, node, traits, [this](uint32_t other) {
        return !is_taken_[other] && index_.node(other).op_type() != "DequantizeLinear";
      });
      if (!family.refusal(index_, unit).empty()) continue;
      claim(family, unit, false);
      if (unit.nodes.size() > 1)
        claim(family, unit_of(index_, node, traits, [](uint32_t) { return false; }), false);
      for (const uint32_t n : unit.nodes) is_taken_[n] = true;
    }
  }

  /// What works element by element and is left over, in sets.
  void take_sets() {
    const auto may_take = [this](uint32_t node) { return !is_taken_[node]; };
    for (const std::vector<uint32_t>& nodes : elementwise_sets(index_, may_take)) {
      Unit unit = unit_of_one(index_, nodes.front());
      unit.nodes = nodes;
      const std::vector<uint32_t> results = index_.output_slots(nodes);
      const ElementwiseProgram program = program_of(index_, nodes, results);
      unit.target.value = results.back();
      if (program.may_overwrite) {
        const auto found = std::find_if(
            program.operands.begin(), program.operands.end(), [&](const auto& operand) {
              return operand.is_whole && !index_.value(operand.value).is_constant();
            });
        if (found != program.operands.end()) unit.addend.value = found->value;
      }
      claim(kFamilies[kElementwise], unit, false);
      for (const uint32_t node : nodes) is_taken_[node] = true;
    }
  }

  void claim_unit(const Unit& unit) {
    const Family& family = *family_of_anchor(unit.anchor);
    const bool leaves = family.has_channels &&
                        (family.starts_format || is_channels_last(index_.input_slots(unit.nodes)));
    claim(family, unit, leaves);
    for (const uint32_t n : unit.nodes) is_taken_[n] = true;
    if (leaves) is_channels_last_[unit.target.value] = true;
  }

  void refuse(uint32_t node, std::string reason) {
    refusals_.emplace_back(node, std::move(reason));
  }

  /// A port that also takes the channels-last order of the value's rank.
  gantry_port port_of(uint32_t value, bool has_format) {
    gantry_port port = {};
    port.size = sizeof(port);
    port.repeats = GANTRY_NONE;
    const int rank = index_.value(value).rank();
    if (has_format && rank >= 3 && rank <= 5) {
      formats_.push_back(&format_of(rank));
      port.format_count = 1;
    }
    return port;
  }

  /// True of what the unit reads in each run as quantized numbers, be it a constant.
  static bool is_tensor(const Unit& unit, uint32_t value) {
    return (unit.addend.quantization && unit.addend.value == value) ||
           std::any_of(unit.sources.begin(), unit.sources.end(), [&](const Port& source) {
             return source.quantization && source.value == value;
           });
  }

  void claim(const Family& family, const Unit& unit, bool leaves_channels_last) {
    const std::vector<InputSlot> slots = index_.input_slots(unit.nodes);
    const std::vector<uint32_t> results = index_.output_slots(unit.nodes);
    formats_.clear();
    formats_.reserve(slots.size() + results.size());  // ports point into it
    std::vector<gantry_port> inputs;
    std::vector<gantry_port> outputs;
    uint64_t overwrites = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      const bool is_constant = index_.value(slots[i].value).is_constant();
      gantry_port& port =
          inputs.emplace_back(port_of(slots[i].value, family.has_channels && !is_constant));
      // What stands around an anchor takes constants only, but for the tensors that it dequantizes.
      if (is_constant && !is_tensor(unit, slots[i].value) &&
          ((slots[i].node != unit.anchor && !family.is_set) ||
           family.is_parameter(index_, slots[i].node, slots[i].position)))
        port.flags = GANTRY_PORT_COMPILE_ONLY | GANTRY_PORT_UNALIGNED;
      // Not where the anchor reads the same value, which it does until its last element is made.
      const auto is_addend = [&](const InputSlot& slot) {
        return slot.value != GANTRY_NONE && slot.value == unit.addend.value;
      };
      // What is added in place has the target's element type.
      if (unit.addend.type() == unit.target.type() && is_addend(slots[i]) && i < 64 &&
          std::count_if(slots.begin(), slots.end(), is_addend) == 1)
        overwrites |= uint64_t{1} << i;
    }
    for (const uint32_t value : results) {
      const bool is_result = value == unit.target.value;
      gantry_port& port = outputs.emplace_back(port_of(value, leaves_channels_last && is_result));
      if (is_result) port.overwrites = overwrites;
    }
    size_t next = 0;
    for (auto* ports : {&inputs, &outputs}) {
      for (gantry_port& port : *ports) {
        if (port.format_count > 0) port.formats = &formats_[next++];
      }
    }
    gantry_claim row = {};
    row.size = sizeof(row);
    row.nodes = unit.nodes.data();
    row.node_count = static_cast<uint32_t>(unit.nodes.size());
    row.port_size = sizeof(gantry_port);
    row.inputs = inputs.data();
    row.input_count = static_cast<uint32_t>(inputs.size());
    row.outputs = outputs.data();
    row.output_count = static_cast<uint32_t>(outputs.size());
    row.time_ns = estimated_ns(unit);
    const std::string name = name_of(family, unit);
    row.kernel = sdk::to_str(name);
    row.tag = static_cast<uint64_t>(&family - kFamilies.data());
    request_.sink->claim(request_.sink->self, &row);
  }

  /// "onednn.conv+BatchNormalization+Relu", "onednn.conv.int8+Relu", "onednn.block_product.avx2"
  [[nodiscard]] std::string name_of(const Family& family, const Unit& unit) const {
    std::string name = family.kernel + std::string(unit.is_quantized() ? ".int8" : "");
    if (unit.rounds_to_bf16) name += ".bf16";
    if (family.instructions) name += "." + std::string(family.instructions());
    if (unit.shuffle) name += ".shuffled";
    for (const uint32_t node : unit.chain.nodes) {
      if (node != unit.anchor) name += "+" + std::string(index_.node(node).op_type());
    }
    return name;
  }

  // Near what the cores can do: what is behind the anchor costs next to nothing.
  [[nodiscard]] double estimated_ns(const Unit& unit) const {
    constexpr double kStartNs = 500;
    constexpr double kOperationsPerNs = 150;
    constexpr double kBytesPerNs = 15;
    constexpr double kQuantized = 4;  // times as many numbers in 8 bits
    sdk::Work work = sdk::work_of(index_.node(unit.anchor));
    if (!work.is_known) return -1;
    for (const uint32_t node : unit.nodes) {  // a block has several convolutions
      if (node != unit.anchor && index_.node(node).op_type() == "Conv")
        work.operations += sdk::work_of(index_.node(node)).operations;
    }
    const double numbers = std::max(work.operations / kOperationsPerNs, work.bytes / kBytesPerNs);
    return kStartNs + numbers / (unit.is_quantized() ? kQuantized : unit.rounds_to_bf16 ? 2 : 1);
  }

  const gantry_claim_request& request_;
  Options options_;
  GraphIndex index_;
  std::vector<bool> is_taken_;          // by node
  std::vector<bool> is_in_block_;       // by node; taken by themselves too
  std::vector<bool> is_channels_last_;  // by value
  std::vector<const gantry_format*> formats_;
  std::vector<std::pair<uint32_t, std::string>> refusals_;  // of nodes that no set takes after all
};

}  // namespace

void claim_nodes(const gantry_host* host, const gantry_claim_request& request) {
  Claimer(host, request).run();
}

}  // namespace gantry::onednn
