// SPDX-License-Identifier: Apache-2.0
#include "claims.h"

#include <gantry/sdk/work.h>

#include <algorithm>
#include <string>

#include "byte_unit.h"
#include "channel_norm.h"
#include "conv_chain.h"
#include "elementwise.h"
#include "elementwise_set.h"
#include "elementwise_table.h"
#include "pool.h"
#include "product_chain.h"
#include "product_group.h"

namespace gantry::cuda {

namespace {

// Input of GroupQueryAttention that is the past of keys; that of values is behind it.
constexpr uint32_t kFirstPastOfGroups = 3;

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

bool is_granted(const gantry_format* const* formats, int slot) {
  return formats && slot >= 0 && formats[slot] != nullptr;
}

}  // namespace

double estimated_ns(const sdk::NodeView& node, uint32_t) {
  // A launch, then what a large device does at a time.
  constexpr double kLaunchNs = 2000;
  constexpr double kOperationsPerNs = 20000;
  constexpr double kBytesPerNs = 2000;
  const sdk::Work work = sdk::work_of(node);
  if (!work.is_known) return -1;
  return kLaunchNs + std::max(work.operations / kOperationsPerNs, work.bytes / kBytesPerNs);
}

Claims::Claims(const gantry_host* host, const gantry_claim_request& request, bool has_dnn,
               bool rounds_to_tf32)
    : host_(host),
      request_(request),
      has_dnn_(has_dnn),
      rounds_to_tf32_(rounds_to_tf32),
      index_(host, *request.graph),
      is_claimed_(request.graph->node_count, false),
      works_last_(request.graph->node_count, false),
      refusals_(request.graph->node_count) {}

void Claims::claim_sets() {
  std::vector<bool> is_elementwise(index_.graph().node_count, false);
  for (uint32_t node = 0; node < index_.graph().node_count; ++node) {
    if (index_.raw(node).capture_count > 0) continue;
    bool is_known = false;
    const std::string reason = elementwise_refusal(index_.node(node), is_known);
    is_elementwise[node] = reason.empty();
    if (is_known) refusals_[node] = reason;
  }
  claim_bytes(is_elementwise);
  claim_convolutions(is_elementwise);
  claim_pools();
  claim_norms();
  claim_products(is_elementwise);
  const std::vector<std::vector<uint32_t>> sets = elementwise_sets(index_, is_elementwise);
  const std::vector<bool> is_between = sets_channels_last(index_, sets, works_last_);
  for (size_t i = 0; i < sets.size(); ++i) {
    const std::vector<uint32_t>& nodes = sets[i];
    claim_set(nodes, is_between[i]);
    if (nodes.size() > 1) {
      for (const uint32_t node : nodes) claim_set({node});
    }
    for (const uint32_t node : nodes) is_claimed_[node] = true;
  }
}

// What is taken along is claimed by itself too, and the anchor by its row.
void Claims::claim_bytes(std::vector<bool>& is_elementwise) {
  for (uint32_t node = 0; node < index_.graph().node_count; ++node) {
    const ByteUnit unit = byte_unit(index_, node, is_elementwise);
    if (unit.nodes.empty()) continue;
    const std::vector<sdk::InputSlot> slots = index_.input_slots(unit.nodes);
    const bool is_last = makes_channels_last(index_, unit);
    const bool reads_last = reads_channels_last(index_, unit);
    std::vector<gantry_port> inputs(slots.size(), gantry_port{});
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].size = sizeof(gantry_port);
      inputs[i].repeats = GANTRY_NONE;
      // The bounds of a Clip.
      if (index_.node(slots[i].node).op_type() == "Clip")
        inputs[i].flags |= GANTRY_PORT_COMPILE_ONLY | GANTRY_PORT_UNALIGNED;
      if (reads_last && slots[i].value == unit.roles.x) offer_channels_last(inputs[i]);
    }
    for (const uint32_t one : unit.nodes) works_last_[one] = is_last;
    claim(unit.nodes, inputs, 0, kByteTag, is_last);
    std::vector<uint32_t> others = unit.nodes;
    others.erase(std::find(others.begin(), others.end(), node));
    claim_one_by_one(others, is_elementwise);
  }
}

void Claims::claim_products(std::vector<bool>& is_elementwise) {
  std::vector<ProductChain> chains;
  std::vector<ProductChain> alike;      // with nothing but a bias behind them
  std::vector<ProductChain> of_blocks;  // of one node each
  for (uint32_t node = 0; node < index_.graph().node_count; ++node) {
    ProductChain chain = product_chain(index_, node, is_elementwise);
    if (may_be_block_group(index_.node(node))) of_blocks.push_back({{node}});
    if (may_be_grouped(index_, chain)) alike.push_back(chain);
    if (chain.nodes.size() < 2) continue;
    // What one chain takes no other does.
    for (size_t i = 1; i < chain.nodes.size(); ++i) is_elementwise[chain.nodes[i]] = false;
    chains.push_back(std::move(chain));
  }
  // Of claims of the same nodes the first is preferred.
  claim_groups(alike);
  claim_groups(of_blocks);
  for (const ProductChain& chain : chains) {
    claim(chain.nodes, plain_ports(chain.nodes), 0, kProductTag);
    claim_one_by_one({chain.nodes.begin() + 1, chain.nodes.end()}, is_elementwise);
  }
}

std::vector<gantry_port> Claims::plain_ports(const std::vector<uint32_t>& nodes) const {
  gantry_port plain = {};
  plain.size = sizeof(plain);
  plain.repeats = GANTRY_NONE;
  return std::vector<gantry_port>(index_.input_slots(nodes).size(), plain);
}

// Their parts are claimed too.
void Claims::claim_groups(const std::vector<ProductChain>& products) {
  for (const std::vector<uint32_t>& nodes : product_groups(index_, products))
    claim(nodes, plain_ports(nodes), 0, kGroupTag);
}

void Claims::claim_convolutions(std::vector<bool>& is_elementwise) {
  for (uint32_t node = 0; node < index_.graph().node_count; ++node) {
    const ConvChain chain = conv_chain(index_, node, is_elementwise);
    if (chain.nodes.empty()) continue;
    const bool is_last = has_dnn_ && prefers_channels_last(index_.node(node), rounds_to_tf32_);
    if (chain.nodes.size() < 2 && !is_last) continue;
    for (const uint32_t one : chain.nodes) works_last_[one] = is_last;
    const std::vector<sdk::InputSlot> slots = index_.input_slots(chain.nodes);
    std::vector<gantry_port> inputs(slots.size(), gantry_port{});
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].size = sizeof(gantry_port);
      inputs[i].repeats = GANTRY_NONE;
      // The bounds of a Clip.
      if (index_.node(slots[i].node).op_type() == "Clip")
        inputs[i].flags |= GANTRY_PORT_COMPILE_ONLY | GANTRY_PORT_UNALIGNED;
      const bool is_tensor = i == 0 || static_cast<int>(i) == chain.epilogue.addend_slot;
      if (is_last && is_tensor) offer_channels_last(inputs[i]);
    }
    claim(chain.nodes, inputs, 0, kConvTag, is_last);
    claim_one_by_one({chain.nodes.begin() + 1, chain.nodes.end()}, is_elementwise);
  }
}

// Between convolutions they take the order that those work in; alone they have their rows.
void Claims::claim_pools() {
  for (uint32_t node = 0; node < index_.graph().node_count; ++node) {
    const sdk::NodeView view = index_.node(node);
    const std::string_view op_type = view.op_type();
    constexpr sdk::DTypeSet kBytes = sdk::dtypes(GANTRY_INT8, GANTRY_UINT8);
    const bool is_bytes = op_type == "MaxPool" && view.input(0).rank() == 4 &&
                          (sdk::dtype_bit(view.input(0).dtype()) & kBytes) != 0;
    const bool is_of_dnn = has_dnn_ && prefers_channels_last(view, rounds_to_tf32_);
    const bool is_global = op_type == "GlobalAveragePool" || op_type == "GlobalMaxPool";
    const bool is_window = (op_type == "MaxPool" && !view.output(1).present()) ||
                           (op_type == "AveragePool" && view.since_version() >= 7);
    // What has other inputs than the operator is left to its row, which says so.
    if ((!is_global && !is_window) || !view.domain().empty() || index_.raw(node).input_count != 1 ||
        index_.raw(node).capture_count != 0 || (!is_bytes && !is_of_dnn))
      continue;
    gantry_port input = {};
    input.size = sizeof(input);
    input.repeats = GANTRY_NONE;
    offer_channels_last(input);
    works_last_[node] = true;
    claim({node}, {input}, 0, kPoolTag, is_window);
  }
}

// Likewise.
void Claims::claim_norms() {
  for (uint32_t node = 0; has_dnn_ && node < index_.graph().node_count; ++node) {
    const sdk::NodeView view = index_.node(node);
    const bool is_norm =
        view.op_type() == "GroupNormalization" || view.op_type() == "InstanceNormalization";
    if (!is_norm || !view.domain().empty() || index_.raw(node).input_count != 3 ||
        index_.raw(node).capture_count != 0 || !prefers_channels_last(view, rounds_to_tf32_))
      continue;
    std::vector<gantry_port> inputs(3, gantry_port{});
    for (gantry_port& port : inputs) {
      port.size = sizeof(port);
      port.repeats = GANTRY_NONE;
    }
    offer_channels_last(inputs[0]);
    works_last_[node] = true;
    claim({node}, inputs, 0, kNormTag, true);
  }
}

// For when the claim of all is not granted. The anchor is claimed by its row.
void Claims::claim_one_by_one(const std::vector<uint32_t>& nodes,
                              std::vector<bool>& is_elementwise) {
  for (const uint32_t node : nodes) {
    claim_set({node});
    is_claimed_[node] = true;
    is_elementwise[node] = false;
  }
}

void Claims::claim_set(const std::vector<uint32_t>& nodes, bool offers_last) {
  const std::vector<sdk::InputSlot> slots = index_.input_slots(nodes);
  const ElementwisePorts ports = elementwise_ports(index_, nodes);
  std::vector<gantry_port> inputs(ports.is_inlined.size(), gantry_port{});
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].size = sizeof(gantry_port);
    inputs[i].repeats = GANTRY_NONE;
    if (!ports.is_read[i]) inputs[i].flags |= GANTRY_PORT_SHAPE_ONLY;
    if (ports.is_inlined[i]) inputs[i].flags |= GANTRY_PORT_COMPILE_ONLY | GANTRY_PORT_UNALIGNED;
    if (offers_last && ports.is_read[i] && !ports.is_inlined[i] &&
        index_.value(slots[i].value).rank() == 4)
      offer_channels_last(inputs[i]);
  }
  claim(nodes, inputs, ports.overwrites, kSetTag, offers_last);
}

// All outputs but those that are read inside of the set and nowhere else.
uint32_t Claims::output_slots(const std::vector<uint32_t>& nodes) const {
  uint32_t count = 0;
  for (const uint32_t node : nodes) {
    const gantry_node& raw = index_.raw(node);
    for (uint32_t i = 0; i < raw.output_count; ++i) {
      const uint32_t value = raw.outputs[i];
      const std::vector<uint32_t> readers =
          value == GANTRY_NONE ? std::vector<uint32_t>() : index_.readers(value);
      const bool is_inner = !readers.empty() && !index_.is_output(value) &&
                            std::all_of(readers.begin(), readers.end(), [&](uint32_t reader) {
                              return std::find(nodes.begin(), nodes.end(), reader) != nodes.end();
                            });
      if (!is_inner) ++count;
    }
  }
  return count;
}

void Claims::claim(const std::vector<uint32_t>& nodes, const std::vector<gantry_port>& inputs,
                   uint64_t overwrites, uint64_t tag, bool offers_channels_last) {
  std::vector<gantry_port> outputs(output_slots(nodes), gantry_port{});
  for (gantry_port& port : outputs) {
    port.size = sizeof(gantry_port);
    port.repeats = GANTRY_NONE;
  }
  outputs[0].overwrites = overwrites;
  if (offers_channels_last) offer_channels_last(outputs[0]);
  std::string name = "cuda.";
  double time_ns = 0;
  for (const uint32_t node : nodes) {
    name += (node == nodes.front() ? "" : "+") + std::string(index_.node(node).op_type());
    time_ns = std::max(time_ns, estimated_ns(index_.node(node), request_.device));
  }
  gantry_claim row = {};
  row.size = sizeof(row);
  row.nodes = nodes.data();
  row.node_count = static_cast<uint32_t>(nodes.size());
  row.port_size = sizeof(gantry_port);
  row.inputs = inputs.data();
  row.input_count = static_cast<uint32_t>(inputs.size());
  row.outputs = outputs.data();
  row.output_count = static_cast<uint32_t>(outputs.size());
  row.time_ns = time_ns > 0 ? time_ns : -1;
  row.kernel = sdk::to_str(name);
  row.tag = tag;
  request_.sink->claim(request_.sink->self, &row);
}

// Adds what rows have no mark for: shapes are wanted where sizes are read, so they are told in host
// memory; caches of keys and values may be written where they lie.
void Claims::pass_on(const gantry_claim& row) const {
  const std::string_view op_type = index_.node(row.nodes[0]).op_type();
  gantry_claim changed = row;
  std::vector<gantry_port> outputs(row.outputs, row.outputs + row.output_count);
  changed.outputs = outputs.data();
  if (row.output_count == 1 && (op_type == "Shape" || op_type == "Size"))
    outputs[0].flags |= GANTRY_PORT_HOST;
  if (op_type == "GroupQueryAttention") {
    for (uint32_t output = 1; output < std::min(row.output_count, 3U); ++output)
      outputs[output].overwrites = uint64_t{1} << (kFirstPastOfGroups + output - 1);
  }
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

std::unique_ptr<sdk::Kernel> compile_set(const gantry_host* host, const gantry_compile& args) {
  const sdk::GraphIndex index(host, *args.graph);
  std::vector<uint32_t> nodes(args.nodes, args.nodes + args.node_count);
  std::sort(nodes.begin(), nodes.end());
  if (args.tag == kSetTag) {
    ElementwiseOrders orders;
    for (size_t slot = 0; slot < index.input_slots(nodes).size(); ++slot)
      orders.inputs.push_back(is_granted(args.input_formats, static_cast<int>(slot)));
    orders.output = is_granted(args.output_formats, 0);
    return std::make_unique<PlannedKernel>(make_elementwise(index, nodes, std::move(orders)), 0);
  }
  if (args.tag == kGroupTag) {
    if (index.node(nodes.front()).op_type() != "MatMulNBits")
      return std::make_unique<PlannedKernel>(make_product_group(index, nodes), 0);
    std::vector<sdk::NodeView> views;
    views.reserve(nodes.size());
    for (const uint32_t node : nodes) views.push_back(index.node(node));
    return std::make_unique<PlannedKernel>(make_block_group(views), 0);
  }
  if (args.tag == kByteTag) {
    std::vector<bool> may_take(args.graph->node_count, false);
    for (const uint32_t node : nodes) may_take[node] = true;
    const auto is_anchor = [&](uint32_t node) {
      return !byte_unit(index, node, may_take).nodes.empty();
    };
    const ByteUnit unit =
        byte_unit(index, *std::find_if(nodes.begin(), nodes.end(), is_anchor), may_take);
    const ByteConvOrders orders = {
        is_granted(args.input_formats, slot_in(index, unit, unit.roles.x)),
        is_granted(args.output_formats, 0)};
    return std::make_unique<PlannedKernel>(index.node(unit.anchor).op_type() == "Conv"
                                               ? make_byte_conv(index, unit, orders)
                                               : make_byte_product(index, unit),
                                           0);
  }
  if (args.tag == kConvTag) {
    // Of these nodes alone the chain is found again: what stands behind them is not to be taken.
    std::vector<bool> may_take(args.graph->node_count, false);
    for (const uint32_t node : nodes) may_take[node] = true;
    const ConvChain chain = conv_chain(index, nodes.front(), may_take);
    return std::make_unique<PlannedKernel>(
        make_conv(index.node(nodes.front()), chain.epilogue,
                  {is_granted(args.input_formats, 0),
                   is_granted(args.input_formats, chain.epilogue.addend_slot),
                   is_granted(args.output_formats, 0)}),
        0);
  }
  if (args.tag == kNormTag) {
    return std::make_unique<PlannedKernel>(
        make_channel_norm(index.node(nodes.front()),
                          {is_granted(args.input_formats, 0), is_granted(args.output_formats, 0)}),
        0);
  }
  if (args.tag == kPoolTag) {
    const sdk::NodeView node = index.node(nodes.front());
    const PoolOrders orders = {is_granted(args.input_formats, 0),
                               is_granted(args.output_formats, 0)};
    return std::make_unique<PlannedKernel>(node.op_type().substr(0, 6) == "Global"
                                               ? make_global_pool(node, orders)
                                               : make_window_pool(node, orders),
                                           0);
  }
  return std::make_unique<PlannedKernel>(
      make_product(index.node(nodes.front()), epilogue_of(index, nodes)), 0);
}

}  // namespace gantry::cuda
