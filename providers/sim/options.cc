// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <gantry/sdk/error.h>

#include <nlohmann/json.hpp>

namespace gantry::sim {
namespace {

using nlohmann::json;

Trigger trigger(const json& faults, const char* member) {
  Trigger result;
  if (!faults.contains(member)) return result;
  const json& value = faults[member];
  if (value.is_string()) {
    result.op_type = value.get<std::string>();
  } else {
    result.number = value.get<uint64_t>();
  }
  return result;
}

}  // namespace

Options::Options(gantry_str text) {
  const json root = json::parse(sdk::to_view(text));
  devices = root.value("devices", devices);
  absent = root.value("absent", absent);
  memory_bytes = root.value("memory_bytes", memory_bytes);
  operators = root.value("operators", operators);
  latency_us = root.value("latency_us", latency_us);
  jitter_us = root.value("jitter_us", jitter_us);
  seed = root.value("seed", seed);
  rendezvous = root.value("rendezvous", rendezvous);
  capture = root.value("capture", capture);
  peer_copies = root.value("peer_copies", peer_copies);
  no_capture = root.value("no_capture", no_capture);
  journal = root.value("journal", journal);
  const json wrong = root.value("faults", json::object());
  faults.device = wrong.value("device", faults.device);
  faults.allocate = trigger(wrong, "allocate");
  faults.copy = trigger(wrong, "copy");
  faults.compile = trigger(wrong, "compile");
  faults.run = trigger(wrong, "run");
  faults.device_lost = trigger(wrong, "device_lost");
  faults.hang = trigger(wrong, "hang");
  faults.hang_ms = wrong.value("hang_ms", faults.hang_ms);
  faults.slow_ns = wrong.value("slow_ns", faults.slow_ns);
}

}  // namespace gantry::sim
