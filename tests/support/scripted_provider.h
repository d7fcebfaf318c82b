// SPDX-License-Identifier: Apache-2.0
// A provider whose claims are what the test says; it compiles nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "placement/claim_rows.h"
#include "plugin/host.h"
#include "plugin/registry.h"

namespace gantry {

/// Devices AAA:0 and BBB:0 work in host memory, DDD:0 and DDD:1 have memory of their own.
struct ScriptedProvider {
  static inline std::function<void(const gantry_claim_request&)> claims;

  static gantry_error* refuse() {
    return host_table().error_create(GANTRY_UNSUPPORTED, {"scripted", 8});
  }

  static gantry_error* report_devices(gantry_provider*, const gantry_device_sink* sink) {
    const auto report = [&](const char* type, uint32_t id, uint32_t flags) {
      gantry_device_info info = {};
      info.size = sizeof(info);
      info.type = {type, 3};
      info.id = id;
      info.flags = flags;
      sink->device(sink->self, &info);
    };
    report("AAA", 0, GANTRY_DEVICE_HOST_MEMORY);
    report("BBB", 0, GANTRY_DEVICE_HOST_MEMORY);
    report("DDD", 0, 0);
    report("DDD", 1, 0);
    return nullptr;
  }

  static gantry_provider_api make_api() {
    gantry_provider_api table = {};
    table.size = sizeof(table);
    table.devices = report_devices;
    table.claim = [](gantry_provider*, const gantry_claim_request* request) -> gantry_error* {
      claims(*request);
      return nullptr;
    };
    table.compile = [](gantry_provider*, const gantry_compile*, gantry_kernel*) {
      return refuse();
    };
    table.destroy = [](gantry_provider*) {};
    // Required of devices with memory; placement calls none of them.
    table.device_open = [](gantry_provider*, uint32_t, gantry_device**) { return refuse(); };
    table.device_close = [](gantry_device*) {};
    table.memory_allocate = [](gantry_device*, uint64_t, void**) { return refuse(); };
    table.memory_free = [](gantry_device*, void*) {};
    table.stream_create = [](gantry_device*, gantry_stream**) { return refuse(); };
    table.stream_destroy = [](gantry_stream*) {};
    table.stream_synchronize = [](gantry_stream*) { return refuse(); };
    table.copy = [](gantry_stream*, const gantry_copy*) { return refuse(); };
    table.event_create = [](gantry_device*, gantry_event**) { return refuse(); };
    table.event_destroy = [](gantry_event*) {};
    table.event_record = [](gantry_event*, gantry_stream*) { return refuse(); };
    table.event_wait = [](gantry_event*, gantry_stream*) { return refuse(); };
    table.event_synchronize = [](gantry_event*) { return refuse(); };
    return table;
  }

  static gantry_error* enter(const gantry_offer*, gantry_accept* accept) {
    static const gantry_provider_api api = make_api();
    accept->layout = GANTRY_ABI_LAYOUT;
    accept->api = &api;
    return nullptr;
  }

  /// Candidates for the devices in that order.
  static std::vector<Candidate> candidates(ProviderRegistry& registry,
                                           const std::vector<std::string>& devices) {
    registry.add(enter, R"({"manifest_version": 1, "name": "scripted", "version": "1.0.0",
                            "abi": {"major": 1, "minor": 0}, "devices": ["AAA", "BBB", "DDD"]})");
    std::vector<Candidate> candidates;
    for (const std::string& name : devices) {
      const Device device = Device::parse(name);
      const DeviceProvider found = registry.find(device).front();
      candidates.push_back({found.provider, found.device_index, device});
    }
    return candidates;
  }
};

/// What a scripted claim says beside its nodes. Ports are by slot.
struct ScriptedRow {
  std::vector<uint32_t> nodes;
  uint32_t flags = 0;
  double time_ns = -1;
  std::vector<uint32_t> input_flags = {};
  std::vector<uint32_t> output_flags = {};
};

/// Answers a claim call with a row.
inline void claim_row(const gantry_claim_request& request, const ScriptedRow& scripted) {
  const auto ports = [](const std::vector<uint32_t>& flags) {
    std::vector<gantry_port> ports(flags.size(), gantry_port{});
    for (size_t i = 0; i < flags.size(); ++i) {
      ports[i].size = sizeof(gantry_port);
      ports[i].flags = flags[i];
      ports[i].repeats = GANTRY_NONE;
    }
    return ports;
  };
  const std::vector<gantry_port> inputs = ports(scripted.input_flags);
  const std::vector<gantry_port> outputs = ports(scripted.output_flags);
  gantry_claim row = {};
  row.size = sizeof(row);
  row.flags = scripted.flags;
  row.nodes = scripted.nodes.data();
  row.node_count = static_cast<uint32_t>(scripted.nodes.size());
  row.port_size = sizeof(gantry_port);
  row.inputs = inputs.empty() ? nullptr : inputs.data();
  row.outputs = outputs.empty() ? nullptr : outputs.data();
  row.input_count = static_cast<uint32_t>(inputs.size());
  row.output_count = static_cast<uint32_t>(outputs.size());
  row.time_ns = scripted.time_ns;
  row.kernel = {"scripted", 8};
  request.sink->claim(request.sink->self, &row);
}

inline void claim(const gantry_claim_request& request, const std::vector<uint32_t>& nodes,
                  uint32_t flags = 0) {
  claim_row(request, ScriptedRow{.nodes = nodes, .flags = flags});
}

}  // namespace gantry
