// SPDX-License-Identifier: Apache-2.0
#include "fuse/claims.h"

#include <gantry/sdk/provider.h>
#include <gantry/sdk/work.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "eltwise/program.h"
#include "fuse/families.h"
#include "options.h"

namespace gantry::x86 {
namespace {

/// The channels-last gantry_format of ranks 3 to 5.
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

/// Makes the claims for one graph.
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
    std::vector<std::unique_ptr<Fusion>> lookups(count);  // by their last node
    for (uint32_t node = count; node-- > 0;) {            // the largest first
      if (!is_taken_[node]) lookups[node] = match(kFamilies[kInt8Lookup], node);
      if (lookups[node]) take_nodes(*lookups[node]);
    }
    // Int8 fusions contain the DequantizeLinear nodes before their root, so they are claimed first.
    std::vector<std::unique_ptr<Fusion>> quantized(count);
    for (uint32_t node = 0; node < count; ++node) {
      const Family* family = is_taken_[node] ? nullptr : family_of_root(node);
      if (!family) continue;
      auto fusion = match(*family, node);
      if (!fusion->is_quantized() || !family->refusal(index_, *fusion).empty()) continue;
      take_nodes(*fusion);
      quantized[node] = std::move(fusion);
    }
    for (uint32_t node = 0; node < count; ++node) {
      if (quantized[node]) {
        claim_fusion(*family_of_root(node), *quantized[node]);
      } else if (lookups[node]) {
        claim_int8_lookup(*lookups[node], node);
      } else if (!is_taken_[node]) {
        take(node);
      }
    }
    claim_dynamic_matmuls();
    claim_elementwise_sets();
    for (const auto& [node, reason] : refusals_) {
      if (!is_taken_[node]) request_.sink->refuse(request_.sink->self, node, sdk::to_str(reason));
    }
  }

 private:
  /// The family that a node can be the root of; null: none.
  [[nodiscard]] const Family* family_of_root(uint32_t node) const {
    const sdk::NodeView view = index_.node(node);
    // A recurrent layer may have its last state as its only output.
    const uint32_t outputs = is_recurrent(view.op_type()) ? view.output_count() : 1;
    bool has_output = false;
    for (uint32_t i = 0; i < outputs; ++i) has_output = has_output || view.output(i).present();
    if (!view.input(0).present() || !has_output) return nullptr;
    if (view.domain() == "com.microsoft") {
      if (view.op_type() == "MatMulNBits") return &kFamilies[kMatMulNBits];
      if (view.op_type() == "QMoE" || view.op_type() == "MoE") return &kFamilies[kExperts];
      if (view.op_type() == "DynamicQuantizeLSTM") return &kFamilies[kDynamicQuantizeLstm];
    }
    if (!view.domain().empty()) return nullptr;
    return &kFamilies[family_of(view.op_type())];
  }

  /// The nodes that no claim has taken.
  [[nodiscard]] MatchScope free_nodes() const {
    return {index_, options_, [this](uint32_t node) { return !is_taken_[node]; }};
  }
  /// Likewise, without DequantizeLinear nodes: int8 fusions have been claimed before.
  [[nodiscard]] MatchScope free_float_nodes() const {
    return {index_, options_, [this](uint32_t node) {
              return !is_taken_[node] && index_.node(node).op_type() != "DequantizeLinear";
            }};
  }
  [[nodiscard]] std::unique_ptr<Fusion> match(const Family& family, uint32_t root) const {
    return family.match(free_nodes(), root);
  }
  void take_nodes(const Fusion& fusion) {
    for (const uint32_t node : fusion.nodes) is_taken_[node] = true;
  }

  [[nodiscard]] bool is_channels_last(const std::vector<InputSlot>& slots) const {
    return std::any_of(slots.begin(), slots.end(), [&](const InputSlot& slot) {
      return slot.value != GANTRY_NONE && is_channels_last_[slot.value];
    });
  }

  void take(uint32_t node) {
    const Family* family = family_of_root(node);
    if (!family) {
      return refuse(node, "no kernel for operator " + std::string(index_.node(node).op_type()));
    }
    if (claim_attention(node)) return;
    claim_depthwise_block(node);
    const Fusion one = single_node_fusion(index_, node);
    const MatchScope scope = free_float_nodes();
    auto fusion = family->match(scope, node);
    std::string reason = family->refusal(index_, *fusion);
    if (!reason.empty() && fusion->nodes.size() > 1) {  // perhaps the root alone is not refused
      fusion = family->match(scope.alone(), node);
      reason = family->refusal(index_, *fusion);
    }
    if (!reason.empty()) return refuse(node, reason);
    const bool needs_format = family->needs_format || is_reduction(index_.node(node).op_type());
    if (needs_format && !is_channels_last(index_.input_slots(one.nodes)))
      return refuse(node, "taken only behind a kernel whose result is channels-last");
    if (!fusion->is_quantized() && !is_channels_last(index_.input_slots(one.nodes))) {
      if (has_large_plane(node))
        return refuse(node, "the library is slow at one result of a large plane in dense order");
      if (has_unusual_windows(node))
        return refuse(node, "the library has no code for such windows in dense order");
    }
    claim_fusion(*family, *fusion);
    if (fusion->nodes.size() == 1) return;
    // The root alone too, in case the host does not grant the fusion.
    claim_fusion(*family, *family->match(scope.alone(), node));
    is_channels_last_[fusion->target.value] = is_channels_last_[one.target.value];
  }

  /// True of a global pool over a plane of many elements, as far as the extents are known.
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

  /// True of a pool that is not 2-D, is dilated, or has fewer channels than a vector of the
  /// library.
  [[nodiscard]] bool has_unusual_windows(uint32_t node) const {
    const std::string_view op = index_.node(node).op_type();
    if (op != "MaxPool" && op != "AveragePool") return false;
    constexpr int64_t kFewestChannels = 4;
    const sdk::ValueView source = index_.node(node).input(0);
    const std::vector<int64_t> dilations = index_.node(node).get_ints("dilations");
    return source.rank() != 4 || (source.extent(1) > 0 && source.extent(1) < kFewestChannels) ||
           std::any_of(dilations.begin(), dilations.end(), [](int64_t step) { return step > 1; });
  }

  /// Claims an Attention node, or the attention around a Softmax; false: there is none.
  bool claim_attention(uint32_t node) {
    const auto fusion = match(kFamilies[kAttention], node);
    if (!fusion) return false;
    claim(kFamilies[kAttention], *fusion, node, false);
    take_nodes(*fusion);
    return true;
  }

  /// Claims a depthwise convolution with the 1x1 convolutions around it. Each of them is claimed
  /// alone too, in case the host does not grant the block.
  void claim_depthwise_block(uint32_t node) {
    const MatchScope scope(index_, options_, [this](uint32_t other) {
      return !is_taken_[other] && !is_in_block_[other];
    });
    const auto block = kFamilies[kDepthwiseBlock].match(scope, node);
    if (!block) return;
    claim(kFamilies[kDepthwiseBlock], *block, node, true);
    for (const uint32_t n : block->nodes) is_in_block_[n] = true;
  }

  void claim_int8_lookup(const Fusion& lookup, uint32_t last) {
    const uint32_t source = index_.input_slots(lookup.nodes).front().value;
    claim(kFamilies[kInt8Lookup], lookup, last, is_channels_last_[source]);
    is_channels_last_[lookup.target.value] = is_channels_last_[source];
  }

  /// Claims matmuls of two activations. Requires that attention, which contains some, is claimed.
  void claim_dynamic_matmuls() {
    const Family& family = kFamilies[kDynamicMatMul];
    const MatchScope scope = free_float_nodes();
    for (uint32_t node = 0; node < request_.graph->node_count; ++node) {
      if (is_taken_[node] || family_of_root(node) != &kFamilies[kMatMul] ||
          index_.node(node).op_type() == "QLinearMatMul")
        continue;
      const auto fusion = family.match(scope, node);
      if (!family.refusal(index_, *fusion).empty()) continue;
      claim(family, *fusion, node, false);
      if (fusion->nodes.size() > 1) claim(family, *family.match(scope.alone(), node), node, false);
      take_nodes(*fusion);
    }
  }

  /// Claims the element-wise nodes that no other claim has taken, in sets.
  void claim_elementwise_sets() {
    for (const std::vector<uint32_t>& nodes : elementwise_sets(index_, free_nodes().predicate())) {
      const Fusion fusion = elementwise_fusion(index_, nodes);
      claim(kFamilies[kElementwise], fusion, nodes.back(), false);
      take_nodes(fusion);
    }
  }

  void claim_fusion(const Family& family, const Fusion& fusion) {
    const bool leaves = family.has_channels && (family.starts_format ||
                                                is_channels_last(index_.input_slots(fusion.nodes)));
    claim(family, fusion, fusion.root, leaves);
    take_nodes(fusion);
    if (leaves) is_channels_last_[fusion.target.value] = true;
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

  /// True of a quantized source or addend, which each run reads even if it is constant.
  static bool is_tensor(const Fusion& fusion, uint32_t value) {
    return (fusion.addend.quantization && fusion.addend.value == value) ||
           std::any_of(fusion.sources.begin(), fusion.sources.end(), [&](const Port& source) {
             return source.quantization && source.value == value;
           });
  }

  /// True if the fusion reads a constant only when it is compiled.
  [[nodiscard]] bool is_read_in_compile_only(const Family& family, const Fusion& fusion,
                                             const std::vector<InputSlot>& slots,
                                             uint32_t value) const {
    // Nodes around the root read only constants, except the tensors that they dequantize.
    return !is_tensor(fusion, value) && sdk::all_slots_of(slots, value, [&](const InputSlot& slot) {
      return (slot.node != fusion.root && !family.is_set) ||
             family.is_parameter(index_, slot.node, slot.position);
    });
  }

  /// `root`: the node at which the family matches the fusion.
  void claim(const Family& family, const Fusion& fusion, uint32_t root, bool leaves_channels_last) {
    const std::vector<InputSlot> slots = index_.input_slots(fusion.nodes);
    const std::vector<uint32_t> results = index_.output_slots(fusion.nodes);
    formats_.clear();
    formats_.reserve(slots.size() + results.size());  // ports point into it
    std::vector<gantry_port> inputs;
    std::vector<gantry_port> outputs;
    uint64_t overwrites = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      const bool is_constant = index_.value(slots[i].value).is_constant();
      gantry_port& port =
          inputs.emplace_back(port_of(slots[i].value, family.has_channels && !is_constant));
      if (is_constant && is_read_in_compile_only(family, fusion, slots, slots[i].value))
        port.flags = GANTRY_PORT_COMPILE_ONLY | GANTRY_PORT_UNALIGNED;
      // Not if the root reads the addend too: it does so until its last result is stored.
      const auto is_addend = [&](const InputSlot& slot) {
        return slot.value != GANTRY_NONE && slot.value == fusion.addend.value;
      };
      // In-place addition needs one dtype for addend and target.
      if (fusion.addend.type() == fusion.target.type() && is_addend(slots[i]) && i < 64 &&
          std::count_if(slots.begin(), slots.end(), is_addend) == 1)
        overwrites |= uint64_t{1} << i;
    }
    for (const uint32_t value : results) {
      const bool is_result = value == fusion.target.value;
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
    row.nodes = fusion.nodes.data();
    row.node_count = static_cast<uint32_t>(fusion.nodes.size());
    row.port_size = sizeof(gantry_port);
    row.inputs = inputs.data();
    row.input_count = static_cast<uint32_t>(inputs.size());
    row.outputs = outputs.data();
    row.output_count = static_cast<uint32_t>(outputs.size());
    row.time_ns = estimated_ns(fusion);
    const std::string name = name_of(family, fusion);
    row.kernel = sdk::to_str(name);
    const auto number = static_cast<size_t>(&family - kFamilies.data());
    row.tag = sdk::FusionTag::of(number, fusion.nodes, root).tag();
    request_.sink->claim(request_.sink->self, &row);
  }

  /// "x86.conv+BatchNormalization+Relu", "x86.conv.int8+Relu", "x86.matmul_nbits.avx2"
  [[nodiscard]] std::string name_of(const Family& family, const Fusion& fusion) const {
    std::string name = family.kernel + std::string(fusion.is_quantized() ? ".int8" : "");
    if (fusion.rounds_to_bf16) name += ".bf16";
    if (family.instructions) name += "." + std::string(family.instructions());
    if (fusion.shuffle) name += ".shuffled";
    for (const uint32_t node : fusion.epilogue.nodes) {
      if (node != fusion.root) name += "+" + std::string(index_.node(node).op_type());
    }
    return name;
  }

  // Near the cores' peak rate. An epilogue costs next to nothing.
  [[nodiscard]] double estimated_ns(const Fusion& fusion) const {
    constexpr double kStartNs = 500;
    constexpr double kOperationsPerNs = 150;
    constexpr double kBytesPerNs = 15;
    constexpr double kQuantized = 4;  // times as many elements per vector in int8
    sdk::Work work = sdk::work_of(index_.node(fusion.root));
    if (!work.is_known) return -1;
    for (const uint32_t node : fusion.nodes) {  // a block has several convolutions
      if (node != fusion.root && index_.node(node).op_type() == "Conv")
        work.operations += sdk::work_of(index_.node(node)).operations;
    }
    const double numbers = std::max(work.operations / kOperationsPerNs, work.bytes / kBytesPerNs);
    return kStartNs + numbers / (fusion.is_quantized()   ? kQuantized
                                 : fusion.rounds_to_bf16 ? 2
                                                         : 1);
  }

  const gantry_claim_request& request_;
  Options options_;
  GraphIndex index_;
  std::vector<bool> is_taken_;          // by node
  std::vector<bool> is_in_block_;       // by node, which is claimed alone too
  std::vector<bool> is_channels_last_;  // by value
  std::vector<const gantry_format*> formats_;
  std::vector<std::pair<uint32_t, std::string>> refusals_;  // reported unless a set takes the node
};

}  // namespace

void claim_nodes(const gantry_host* host, const gantry_claim_request& request) {
  Claimer(host, request).run();
}

}  // namespace gantry::x86
