// SPDX-License-Identifier: Apache-2.0
#include "fuse/claims.h"

#include <gantry/sdk/work.h>

#include <algorithm>

#include "elementwise/elementwise.h"
#include "elementwise/elementwise_set.h"
#include "elementwise/elementwise_table.h"

namespace gantry::cuda {

namespace {

// Rows of claims, by tag: those of kernels, from here on those of fusions, and last the sets of
// element-wise nodes.
constexpr size_t kFirstFusion = size_t{1} << 16;

// [N, C, H, W] with the channels innermost.
void offer_channels_last(gantry_port& port) {
  static const gantry_format format = [] {
    gantry_format made = {};
    made.size = sizeof(made);
    made.rank = 4;
    const uint32_t order[] = {0, 2, 3, 1};
    std::copy(std::begin(order), std::end(order), made.order);
    return made;
  }();
  static const gantry_format* const formats[] = {&format};
  port.formats = formats;
  port.format_count = 1;
}

bool is_matmul(const sdk::NodeView& node) {
  return node.op_type() == "MatMul" || node.op_type() == "MatMulNBits";
}

}  // namespace

double estimated_ns(const sdk::NodeView& node, uint32_t) {
  // The launch, plus operations and bytes at the rates of a large GPU.
  constexpr double kLaunchNs = 2000;
  constexpr double kOperationsPerNs = 20000;
  constexpr double kBytesPerNs = 2000;
  const sdk::Work work = sdk::work_of(node);
  if (!work.is_known) return -1;
  return kLaunchNs + std::max(work.operations / kOperationsPerNs, work.bytes / kBytesPerNs);
}

Claims::Claims(const gantry_host* host, const gantry_claim_request& request,
               sdk::FusionTable fusions, const LayoutOptions& options)
    : host_(host),
      request_(request),
      fusions_(fusions),
      options_(options),
      index_(host, *request.graph),
      is_elementwise_(request.graph->node_count, false),
      is_claimed_(request.graph->node_count, false),
      works_channels_last_(request.graph->node_count, false),
      refusals_(request.graph->node_count) {}

void Claims::claim_fusions() {
  find_elementwise();
  for (size_t row = 0; row < fusions_.count; ++row) claim_matches(row);
  claim_sets();
}

void Claims::find_elementwise() {
  for (uint32_t node = 0; node < index_.graph().node_count; ++node) {
    if (index_.raw(node).capture_count > 0) continue;
    bool is_known = false;
    const std::string reason = elementwise_refusal(index_.node(node), is_known);
    is_elementwise_[node] = reason.empty();
    if (is_known) refusals_[node] = reason;
  }
}

// Matches may fuse element-wise nodes that no earlier fusion has and, in groups, further matmuls.
void Claims::claim_matches(size_t row) {
  std::vector<bool> is_grouped(index_.graph().node_count, false);
  const sdk::FusionScope scope(index_, [&](uint32_t node) {
    return !is_grouped[node] && (is_elementwise_[node] || is_matmul(index_.node(node)));
  });
  for (uint32_t root = 0; root < index_.graph().node_count; ++root) {
    if (is_grouped[root]) continue;
    const std::unique_ptr<sdk::FusionMatch> match = fusions_.rows[row].match(scope, root);
    if (!match || !fusions_.rows[row].refusal(scope, *match).empty()) continue;
    const auto& fusion = static_cast<const Fusion&>(*match);
    if (!claim_fusion(row, fusion)) continue;
    for (const uint32_t node : fusion.nodes) {
      if (fusion.is_group) {
        is_grouped[node] = true;
      } else if (node != root) {
        claim_set({node});
        is_elementwise_[node] = false;
      }
    }
  }
}

bool Claims::offers(ChannelsLast when) const {
  switch (when) {
    case ChannelsLast::kNever:
      return false;
    case ChannelsLast::kWithCudnn:
      return options_.has_dnn;
    case ChannelsLast::kWithCudnnTf32:
      return options_.has_dnn && options_.rounds_to_tf32;
    case ChannelsLast::kAlways:
      return true;
  }
  return false;
}

// True of a bound of a Clip that no other node of the set reads.
bool Claims::is_clip_bound(const std::vector<sdk::InputSlot>& slots, uint32_t value) const {
  return sdk::all_slots_of(slots, value, [&](const sdk::InputSlot& slot) {
    return slot.position > 0 && index_.node(slot.node).op_type() == "Clip";
  });
}

bool Claims::claim_fusion(size_t row, const Fusion& fusion) {
  const bool is_last = offers(fusion.channels_last);
  if (fusion.nodes.size() == 1 && !is_last) return false;
  const std::vector<sdk::InputSlot> slots = index_.input_slots(fusion.nodes);
  Row claimed = row_of(fusion.nodes, row, fusion.root);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (is_clip_bound(slots, slots[i].value))
      claimed.inputs[i].flags |= GANTRY_PORT_COMPILE_ONLY | GANTRY_PORT_UNALIGNED;
    const std::vector<uint32_t>& last = fusion.channels_last_inputs;
    if (is_last && std::find(last.begin(), last.end(), slots[i].value) != last.end())
      offer_channels_last(claimed.inputs[i]);
  }
  if (is_last && fusion.makes_channels_last) offer_channels_last(claimed.outputs[0]);
  for (const uint32_t node : fusion.nodes) works_channels_last_[node] = is_last;
  claim(claimed);
  return true;
}

void Claims::claim_sets() {
  const std::vector<std::vector<uint32_t>> sets = elementwise_sets(index_, is_elementwise_);
  const std::vector<bool> is_between = sets_channels_last(index_, sets, works_channels_last_);
  for (size_t i = 0; i < sets.size(); ++i) {
    claim_set(sets[i], is_between[i]);
    if (sets[i].size() == 1) continue;
    for (const uint32_t node : sets[i]) claim_set({node});
  }
}

void Claims::claim_set(const std::vector<uint32_t>& nodes, bool offers_channels_last) {
  const std::vector<sdk::InputSlot> slots = index_.input_slots(nodes);
  const ElementwisePorts ports = elementwise_ports(index_, nodes);
  Row row = row_of(nodes, fusions_.count, nodes.back());
  for (size_t i = 0; i < slots.size(); ++i) {
    gantry_port& port = row.inputs[i];
    if (!ports.is_read[i]) port.flags |= GANTRY_PORT_SHAPE_ONLY;
    if (ports.is_inlined[i]) port.flags |= GANTRY_PORT_COMPILE_ONLY | GANTRY_PORT_UNALIGNED;
    if (offers_channels_last && ports.is_read[i] && !ports.is_inlined[i] &&
        index_.value(slots[i].value).rank() == 4)
      offer_channels_last(port);
  }
  row.outputs[0].overwrites = ports.overwrites;
  if (offers_channels_last) offer_channels_last(row.outputs[0]);
  claim(row);
  for (const uint32_t node : nodes) is_claimed_[node] = true;
}

Claims::Row Claims::row_of(const std::vector<uint32_t>& nodes, size_t row, uint32_t root) const {
  gantry_port plain = {};
  plain.size = sizeof(plain);
  plain.repeats = GANTRY_NONE;
  return {nodes, std::vector<gantry_port>(index_.input_slots(nodes).size(), plain),
          std::vector<gantry_port>(index_.output_slots(nodes).size(), plain),
          sdk::FusionTag::of(kFirstFusion + row, nodes, root).tag()};
}

void Claims::claim(const Row& row) const {
  std::string name = "cuda.";
  double time_ns = 0;
  for (const uint32_t node : row.nodes) {
    name += (node == row.nodes.front() ? "" : "+") + std::string(index_.node(node).op_type());
    time_ns = std::max(time_ns, estimated_ns(index_.node(node), request_.device));
  }
  gantry_claim made = {};
  made.size = sizeof(made);
  made.nodes = row.nodes.data();
  made.node_count = static_cast<uint32_t>(row.nodes.size());
  made.port_size = sizeof(gantry_port);
  made.inputs = row.inputs.data();
  made.input_count = static_cast<uint32_t>(row.inputs.size());
  made.outputs = row.outputs.data();
  made.output_count = static_cast<uint32_t>(row.outputs.size());
  made.time_ns = time_ns > 0 ? time_ns : -1;
  made.kernel = sdk::to_str(name);
  made.tag = row.tag;
  request_.sink->claim(request_.sink->self, &made);
}

// Adds what kernel rows have no mark for: Shape and Size write to host memory, where sizes are
// read.
void Claims::pass_on(const gantry_claim& row) const {
  const std::string_view op_type = index_.node(row.nodes[0]).op_type();
  gantry_claim changed = row;
  std::vector<gantry_port> outputs(row.outputs, row.outputs + row.output_count);
  changed.outputs = outputs.data();
  if (row.output_count == 1 && (op_type == "Shape" || op_type == "Size"))
    outputs[0].flags |= GANTRY_PORT_HOST;
  request_.sink->claim(request_.sink->self, &changed);
}

gantry_claim_sink Claims::sink_of_rest() {
  gantry_claim_sink sink = {};
  sink.size = sizeof(sink);
  sink.self = this;
  sink.claim = [](void* self, const gantry_claim* row) {
    const auto& claims = *static_cast<Claims*>(self);
    if (!claims.is_claimed_[row->nodes[0]]) claims.pass_on(*row);
  };
  sink.refuse = [](void* self, uint32_t node, gantry_str reason) {
    const auto& claims = *static_cast<Claims*>(self);
    if (claims.is_claimed_[node]) return;
    const std::string& known = claims.refusals_[node];
    claims.request_.sink->refuse(claims.request_.sink->self, node,
                                 known.empty() ? reason : sdk::to_str(known));
  };
  return sink;
}

bool is_fusion(uint64_t tag) { return sdk::FusionTag::from(tag).row >= kFirstFusion; }

std::unique_ptr<sdk::Kernel> compile_claim(const gantry_host* host, const gantry_compile& args,
                                           sdk::FusionTable fusions) {
  const sdk::ClaimedNodes claim(host, args, kFirstFusion + fusions.count + 1);
  const size_t position = claim.row() - kFirstFusion;
  const sdk::FusionRow row = position < fusions.count ? fusions.rows[position] : elementwise_row();
  const sdk::FusionScope scope = claim.scope();
  const std::unique_ptr<sdk::FusionMatch> match = row.match(scope, claim.root());
  claim.require_same(row.kernel, match.get());
  return row.make({scope, args, claim.index().input_slots(claim.nodes())}, *match);
}

}  // namespace gantry::cuda
