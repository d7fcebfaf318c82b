// SPDX-License-Identifier: Apache-2.0
#include "program/formats.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "placement/transfers.h"

namespace gantry {
namespace {

// A slot that reads a value. No port: control flow, which needs dense order in host memory.
struct FormatReader {
  const Claim* claim = nullptr;
  const Port* port = nullptr;
};

using Readers = std::unordered_map<const GraphValue*, std::vector<FormatReader>>;

Readers readers_of(const GraphPlacement& placement) {
  Readers readers;
  for (const Claim& claim : placement.claims) {
    const std::vector<GraphValue*> inputs = slots_of(claim.nodes).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]) readers[inputs[i]].push_back({&claim, &claim.inputs[i]});
    }
  }
  for (const auto& node : placement.graph->nodes()) {
    if (placement.owner[node->id] >= 0) continue;
    for (const auto* values : {&node->inputs, &node->captures}) {
      for (const GraphValue* value : *values) {
        if (value) readers[value].push_back({});
      }
    }
  }
  return readers;
}

bool is_order_of(const gantry_format& format, const GraphValue& value) {
  if (format.block_extent != 0 || format.private_id != 0 || !value.type.has_rank ||
      value.type.kind != Kind::kTensor || bits_of(value.type.dtype) < 8 ||
      format.rank != value.type.shape.size() || format.rank > std::size(format.order))
    return false;
  uint32_t seen = 0;
  for (uint32_t i = 0; i < format.rank; ++i) {
    if (format.order[i] < format.rank) seen |= 1U << format.order[i];
  }
  return seen == (1U << format.rank) - 1;
}

bool is_granted(const gantry_format& format, const GraphValue& value, const Claim& maker,
                const std::vector<FormatReader>& readers) {
  bool is_wanted = false;
  bool is_refused = value.is_output();
  for (const FormatReader& reader : readers) {
    if (reader.port && (reader.port->flags & GANTRY_PORT_SHAPE_ONLY)) continue;
    const bool takes = reader.port && accepts(*reader.port, format) &&
                       !is_host_port(*reader.port) &&
                       reader.claim->candidate->device == maker.candidate->device;
    is_wanted = is_wanted || takes;
    is_refused = is_refused || !takes;
  }
  return is_wanted && (!is_refused || maker.candidate->provider->api().reorder);
}

}  // namespace

bool is_same(const gantry_format& a, const gantry_format& b) {
  return a.rank == b.rank && a.block_extent == b.block_extent && a.private_id == b.private_id &&
         (a.block_extent == 0 || a.block_axis == b.block_axis) &&
         std::equal(a.order, a.order + std::min<size_t>(a.rank, std::size(a.order)), b.order);
}

bool accepts(const Port& port, const gantry_format& format) {
  return std::any_of(port.formats.begin(), port.formats.end(),
                     [&](const gantry_format& own) { return is_same(own, format); });
}

std::unordered_map<const GraphValue*, gantry_format> assign_formats(
    const GraphPlacement& placement) {
  std::unordered_map<const GraphValue*, gantry_format> formats;
  const auto offers = [](const Claim& claim) {
    return std::any_of(claim.outputs.begin(), claim.outputs.end(),
                       [](const Port& port) { return !port.formats.empty(); });
  };
  if (std::none_of(placement.claims.begin(), placement.claims.end(), offers)) return formats;
  const Readers readers = readers_of(placement);
  for (const Claim& claim : placement.claims) {
    if (!offers(claim)) continue;
    const std::vector<GraphValue*> outputs = slots_of(claim.nodes).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto found = readers.find(outputs[i]);
      if (!outputs[i] || found == readers.end() || is_host_port(claim.outputs[i])) continue;
      for (const gantry_format& format : claim.outputs[i].formats) {
        if (!is_order_of(format, *outputs[i]) ||
            !is_granted(format, *outputs[i], claim, found->second))
          continue;
        formats.emplace(outputs[i], format);
        break;
      }
    }
  }
  return formats;
}

}  // namespace gantry
