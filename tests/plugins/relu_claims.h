// SPDX-License-Identifier: Apache-2.0
// What the fakes answer: one device in host memory, and a claim for every Relu by itself. Against
// the C header alone.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace fakes {

inline gantry_str to_str(const char* characters) { return {characters, std::strlen(characters)}; }

/// Reports "FAKE:0", ready.
inline void report_device(const gantry_device_sink& sink, const char* name) {
  gantry_device_info info = {};
  info.size = sizeof(info);
  info.type = to_str("FAKE");
  info.flags = GANTRY_DEVICE_HOST_MEMORY;
  info.name = to_str(name);
  sink.device(sink.self, &info);
}

inline bool is_relu(const gantry_node& node) {
  return std::string_view(node.op_type.data, node.op_type.length) == "Relu";
}

/// A row for each Relu, of any domain and type, and a refusal for every other node. `port`: the
/// wishes for both slots; null: none.
inline void claim_relus(const gantry_claim_request& request, const char* kernel, uint64_t tag = 0,
                        const gantry_port* port = nullptr) {
  for (uint32_t node = 0; node < request.graph->node_count; ++node) {
    if (!is_relu(*request.graph->nodes[node])) {
      request.sink->refuse(request.sink->self, node, to_str("only Relu is known"));
      continue;
    }
    gantry_claim row = {};
    row.size = sizeof(row);
    row.nodes = &node;
    row.node_count = 1;
    row.time_ns = -1;
    row.kernel = to_str(kernel);
    row.tag = tag;
    if (port) {
      row.port_size = sizeof(*port);
      row.inputs = row.outputs = port;
      row.input_count = row.output_count = 1;
    }
    request.sink->claim(request.sink->self, &row);
  }
}

}  // namespace fakes
