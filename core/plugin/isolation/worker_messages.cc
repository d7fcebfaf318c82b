// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/worker_messages.h"

namespace gantry {

const char* to_string(WorkerCall call) noexcept {
  switch (call) {
    case WorkerCall::kOpen:
      return "open";
    case WorkerCall::kClaim:
      return "claim";
    case WorkerCall::kCompile:
      return "compile";
    case WorkerCall::kRun:
      return "run";
    case WorkerCall::kRelease:
      return "release";
    case WorkerCall::kOperators:
      return "list of operators";
    case WorkerCall::kQuit:
      return "destroy";
  }
  return "call";
}

void WorkerOpen::write(MessageWriter& to) const {
  for (const std::string* text : {&manifest_file, &manifest, &library, &options}) to.text(*text);
  to.put(memory_limit_bytes);
  to.put(stop_grace_ms);
  to.put(is_sandboxed);
}

WorkerOpen WorkerOpen::read(MessageReader& from) {
  WorkerOpen open;
  for (std::string* text : {&open.manifest_file, &open.manifest, &open.library, &open.options})
    *text = from.text();
  open.memory_limit_bytes = from.get<uint64_t>();
  open.stop_grace_ms = from.get<uint64_t>();
  open.is_sandboxed = from.get<uint8_t>();
  return open;
}

void WorkerOpened::write(MessageWriter& to) const {
  to.put<uint64_t>(devices.size());
  for (const Device& device : devices) {
    for (const std::string* text : {&device.type, &device.name, &device.uid, &device.reason})
      to.text(*text);
    to.put(device.id);
    to.put(device.state);
    to.put(device.memory_bytes);
  }
  to.text(missing);
}

WorkerOpened WorkerOpened::read(MessageReader& from) {
  WorkerOpened opened;
  opened.devices.resize(from.count(4 * sizeof(uint64_t)));
  for (Device& device : opened.devices) {
    for (std::string* text : {&device.type, &device.name, &device.uid, &device.reason})
      *text = from.text();
    device.id = from.get<uint32_t>();
    device.state = from.get<uint32_t>();
    device.memory_bytes = from.get<uint64_t>();
  }
  opened.missing = from.text();
  return opened;
}

void WorkerAsk::write(MessageWriter& to) const {
  to.put(device);
  to.text(options);
  to.list(segments);
  to.list(dropped);
}

WorkerAsk WorkerAsk::read(MessageReader& from) {
  WorkerAsk ask;
  ask.device = from.get<uint32_t>();
  ask.options = from.text();
  ask.segments = from.list<Segment>();
  ask.dropped = from.list<uint64_t>();
  return ask;
}

void WorkerClaims::write(MessageWriter& to) const {
  to.put<uint64_t>(sets.size());
  for (const Set& set : sets) {
    to.list(set.nodes);
    to.list(set.input_flags);
    to.put(set.output_count);
    to.put(set.is_divisible);
    to.put(set.time_ns);
    to.put(set.workspace_bytes);
    to.text(set.kernel);
  }
  to.put<uint64_t>(refusals.size());
  for (const Refusal& refusal : refusals) {
    to.put(refusal.node);
    to.text(refusal.reason);
  }
}

WorkerClaims WorkerClaims::read(MessageReader& from) {
  WorkerClaims claims;
  claims.sets.resize(from.count(3 * sizeof(uint64_t)));
  for (Set& set : claims.sets) {
    set.nodes = from.list<uint32_t>();
    set.input_flags = from.list<uint32_t>();
    set.output_count = from.get<uint32_t>();
    set.is_divisible = from.get<uint8_t>();
    set.time_ns = from.get<double>();
    set.workspace_bytes = from.get<uint64_t>();
    set.kernel = from.text();
  }
  claims.refusals.resize(from.count(sizeof(uint32_t) + sizeof(uint64_t)));
  for (Refusal& refusal : claims.refusals) {
    refusal.node = from.get<uint32_t>();
    refusal.reason = from.text();
  }
  return claims;
}

void WorkerCompile::write(MessageWriter& to) const {
  to.put(kernel);
  to.put(threads);
  to.list(nodes);
  to.list(inputs);
  to.list(outputs);
}

WorkerCompile WorkerCompile::read(MessageReader& from) {
  WorkerCompile compile;
  compile.kernel = from.get<uint64_t>();
  compile.threads = from.get<uint32_t>();
  compile.nodes = from.list<uint32_t>();
  compile.inputs = from.list<uint32_t>();
  compile.outputs = from.list<uint32_t>();
  return compile;
}

void WorkerKernel::write(MessageWriter& to) const {
  to.list(inputs);
  to.list(outputs);
  to.put<uint64_t>(steps.size());
  for (const std::string& step : steps) to.text(step);
}

WorkerKernel WorkerKernel::read(MessageReader& from) {
  WorkerKernel kernel;
  kernel.inputs = from.list<uint32_t>();
  kernel.outputs = from.list<uint32_t>();
  kernel.steps.resize(from.count(sizeof(uint64_t)));
  for (std::string& step : kernel.steps) step = from.text();
  return kernel;
}

}  // namespace gantry
