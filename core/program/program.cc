// SPDX-License-Identifier: Apache-2.0
#include "program/program.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/trace.h"
#include "placement/transfers.h"
#include "plugin/crash_marks.h"
#include "plugin/error.h"
#include "program/compile_claim.h"
#include "program/formats.h"
#include "program/groups.h"
#include "program/lifetimes.h"
#include "program/shared_regions.h"

namespace gantry {
namespace {

// Bodies in the order of Program::bodies: then, else; or the one body.
std::vector<const Graph*> bodies_by_role(const Node& node) {
  std::vector<const Graph*> bodies;
  for (const char* role : {"then_branch", "else_branch", "body"}) {
    const Attribute* attribute = node.find(role);
    const auto* body = attribute ? std::get_if<std::unique_ptr<Graph>>(&attribute->value) : nullptr;
    if (body) bodies.push_back(body->get());
  }
  if (bodies.size() != (node.op_type == "If" ? 2U : 1U)) {
    throw Error(Code::kInvalidModel, node.label() + ": a body is missing");
  }
  return bodies;
}

}  // namespace

class ProgramBuilder {
 public:
  ProgramBuilder(Program& program, const GraphPlacement& placement, DeviceTable& devices,
                 const std::vector<std::vector<DeviceProvider>>& owners,
                 const BuildOptions& options)
      : program_(program),
        placement_(placement),
        devices_(devices),
        owners_(owners),
        options_(options) {
    for (const auto& [value, format] : assign_formats(placement))
      formats_.emplace(value, std::make_shared<const gantry_format>(format));
  }

  void run() {
    const Graph& graph = *placement_.graph;
    for (const GraphValue* input : graph.inputs) program_.inputs_.push_back(new_slot(input, 0));
    for (const GraphValue* capture : graph.captures) {
      program_.captures_.push_back(capture ? new_slot(capture, 0) : kNoSlot);
    }
    program_.signature_inputs_.assign(graph.inputs.size(), 0);
    for (const Group& group : ordered_groups(placement_)) {
      if (group.claim) {
        add_kernel(*group.claim);
      } else {
        add_control_flow(*group.node);
      }
    }
    compile_claims({placement_, devices_, program_.slots_, options_}, uncompiled_, program_.steps_);
    add_outputs();
    find_lifetimes(program_.steps_, program_.slots_, program_.outputs_);
    if (options_.leaves_session) {
      program_.has_capturable_segments_ =
          find_capturable_segments(program_.steps_, program_.slots_, devices_);
    }
    program_.resident_inputs_.assign(program_.inputs_.size(), 0);
    program_.resident_outputs_.assign(program_.outputs_.size(), 0);
    if (options_.leaves_session) {
      find_residents(program_.steps_, program_.inputs_, program_.outputs_, program_.slots_,
                     program_.resident_inputs_, program_.resident_outputs_);
    }
    assign_shared_regions(program_.steps_, program_.outputs_, devices_, program_.slots_);
    for (size_t i = 0; options_.marks_steps && i < program_.steps_.size(); ++i)
      program_.steps_[i].mark = i + 1;
    for (const Step& step : program_.steps_) {
      if (step.kind == StepKind::kCopy) ++program_.copies_;
    }
    program_.bodies_.resize(program_.steps_.size());
    for (const Program::Bodies& bodies : program_.bodies_) {
      for (const auto& body : bodies) program_.copies_ += body->copies();
    }
  }

 private:
  using Format = std::shared_ptr<const gantry_format>;

  uint32_t new_slot(const GraphValue* value, uint32_t space, const Format& format = nullptr) {
    const auto slot = static_cast<uint32_t>(program_.slots_.size());
    program_.slots_.push_back({value->name, &value->type, space, nullptr, kNoSlot, 0, format, 0});
    slots_[{value, space, format != nullptr}] = slot;
    return slot;
  }

  uint32_t made_slot(const GraphValue* value, uint32_t space, const Format& format = nullptr) {
    return *made_.insert(new_slot(value, space, format)).first;
  }

  uint32_t new_constant(const GraphValue* value, uint32_t space, ValueRef constant) {
    const uint32_t slot = static_cast<uint32_t>(program_.slots_.size());
    program_.slots_.push_back(
        {value->name, &value->type, space, std::move(constant), kNoSlot, 0, nullptr, 0});
    return slot;
  }

  [[nodiscard]] Format format_of(const GraphValue* value) const {
    const auto found = formats_.find(value);
    return found == formats_.end() ? nullptr : found->second;
  }

  // The slot of a value in one space, dense or in its format; kNoSlot: none yet.
  [[nodiscard]] uint32_t find_slot(const GraphValue* value, uint32_t space, bool in_format) const {
    const auto found = slots_.find({value, space, in_format});
    return found == slots_.end() ? kNoSlot : found->second;
  }

  // Slot of a constant in host memory. In a mapped file a constant may start at any byte; kernels
  // that need it aligned read a copy.
  uint32_t constant_on_host(const GraphValue* value, bool may_be_unaligned) {
    const bool as_is = may_be_unaligned || value->constant->kind != GANTRY_KIND_TENSOR ||
                       is_aligned(*value->constant);
    uint32_t& slot =
        (as_is ? host_constants_ : aligned_constants_).try_emplace(value, kNoSlot).first->second;
    if (slot != kNoSlot) return slot;
    if (!as_is) devices_.space(0).count(value->constant->view.size_bytes);
    return slot = new_constant(value, 0, as_is ? value->constant : copy_tensor(*value->constant));
  }

  // Slot of a constant in a device's memory, uploaded once when the program is built.
  uint32_t constant_on_device(const GraphValue* value, uint32_t space) {
    if (const uint32_t slot = find_slot(value, space, false); slot != kNoSlot) return slot;
    const gantry_value& host = *value->constant;
    if (host.kind != GANTRY_KIND_TENSOR || host.dtype == DType::kString) {
      throw Error(Code::kUnsupported, "constant \"" + value->name +
                                          "\" is no tensor of numbers and cannot be copied to " +
                                          devices_.device(space).to_string());
    }
    const TraceSpan span(options_.trace, "load", "upload", value->name);
    const MemorySpace& memory = devices_.space(space);
    const uint64_t bytes = std::max<uint64_t>(host.view.size_bytes, 1);
    std::shared_ptr<void> data(memory.allocate(bytes),
                               [memory, bytes](void* p) { memory.free(p, bytes); });
    gantry_stream* stream = nullptr;
    memory.check(memory.api->stream_create(memory.device, &stream), "stream for constants");
    gantry_copy copy = {
        sizeof(copy),         GANTRY_COPY_HOST_TO_DEVICE, data.get(),          host.view.data, 1,
        host.view.size_bytes, host.view.size_bytes,       host.view.size_bytes};
    gantry_error* error = memory.api->copy(stream, &copy);
    if (!error) error = memory.api->stream_synchronize(stream);
    memory.api->stream_destroy(stream);
    memory.check(error, [&] { return "copy of constant \"" + value->name + "\""; });
    ValueRef constant = view_tensor(host.dtype, host.shape, data.get(), host.view.size_bytes, data);
    constant->view.device = space;
    const uint32_t slot = new_constant(value, space, std::move(constant));
    slots_[{value, space, false}] = slot;
    return slot;
  }

  // The slot in which `value` can be read in `space` in dense order; adds the copy or the reorder
  // if there is none yet.
  uint32_t readable(const GraphValue* value, uint32_t space, bool may_be_unaligned = false) {
    if (value->constant) {
      return space == 0 ? constant_on_host(value, may_be_unaligned)
                        : constant_on_device(value, space);
    }
    if (const uint32_t slot = find_slot(value, space, false); slot != kNoSlot) return slot;
    if (const uint32_t slot = find_slot(value, space, true); slot != kNoSlot)
      return add_reorder(value, slot);
    // Between two devices the value is copied through host memory, unless their provider has peer
    // copies. A body has no peer copies: its frame's memory is reused before the run ends, while
    // such a copy may still read it.
    const uint32_t producer = producer_space(value);
    const bool is_direct = producer == 0 || space == 0 ||
                           (options_.leaves_session && devices_.can_copy_between(producer, space));
    return add_copy(value, readable(value, is_direct ? producer : 0), space);
  }

  // The slot that a kernel in `space` reads for a port.
  uint32_t input_slot(const GraphValue* value, const Port& port, uint32_t space) {
    const bool is_unread = value && value->constant && (port.flags & GANTRY_PORT_COMPILE_ONLY);
    if (!value || is_unread) return kNoSlot;
    const bool is_anywhere = (port.flags & GANTRY_PORT_SHAPE_ONLY) != 0;
    if (is_anywhere && !value->constant) return lowest_slot(value);
    const uint32_t formatted = is_host_port(port) ? kNoSlot : find_slot(value, space, true);
    if (formatted != kNoSlot && accepts(port, *program_.slots_[formatted].format)) return formatted;
    return readable(value, is_host_port(port) || is_anywhere ? 0 : space,
                    is_anywhere || (port.flags & GANTRY_PORT_UNALIGNED) != 0);
  }

  // The value's slot in the lowest space, so that of a copy in host memory if there is one.
  uint32_t lowest_slot(const GraphValue* value) const {
    const auto lowest = slots_.lower_bound({value, 0, false});
    if (lowest == slots_.end() || std::get<0>(lowest->first) != value)
      throw Error(Code::kInternal, "value \"" + value->name + "\" is read before it is made");
    return lowest->second;
  }

  // The space of the value's first slot, in which it is made.
  [[nodiscard]] uint32_t producer_space(const GraphValue* value) const {
    uint32_t first = lowest_slot(value);
    for (auto at = slots_.lower_bound({value, 0, false});
         at != slots_.end() && std::get<0>(at->first) == value; ++at)
      first = std::min(first, at->second);
    return program_.slots_[first].space;
  }

  uint32_t add_copy(const GraphValue* value, uint32_t source, uint32_t space) {
    if (value->type.kind != Kind::kTensor || value->type.dtype == DType::kString) {
      throw Error(Code::kUnsupported, "value \"" + value->name +
                                          "\" is no tensor of numbers and cannot be copied to " +
                                          devices_.device(space).to_string());
    }
    const uint32_t from = program_.slots_[source].space;
    const uint32_t target = made_slot(value, space);
    if (space == 0) program_.slots_[target].event_space = from;
    Step step;
    step.kind = StepKind::kCopy;
    step.label = "copy of \"" + value->name + "\"";
    step.node = value->name;
    step.op_type = "copy";
    step.provider = "core";
    step.space = space != 0 ? space : from;
    step.device = devices_.device(step.space).to_string();
    step.inputs = {source};
    step.outputs = {target};
    step.wanted = {1};
    step.output_ports.resize(1);
    program_.steps_.push_back(std::move(step));
    return target;
  }

  uint32_t add_reorder(const GraphValue* value, uint32_t source) {
    const Claim& maker = *makers_.at(source);
    const uint32_t space = program_.slots_[source].space;
    const uint32_t target = made_slot(value, space);
    Step step;
    step.kind = StepKind::kReorder;
    step.label = "reorder of \"" + value->name + "\"";
    step.node = value->name;
    step.op_type = "reorder";
    step.provider = maker.candidate->provider->name();
    step.owner = maker.candidate->provider;
    step.mark = mark_of(step.owner->mark(), MarkedCall::kRun);
    step.space = space;
    step.device = maker.candidate->device.to_string();
    step.inputs = {source};
    step.outputs = {target};
    step.wanted = {1};
    step.output_ports.resize(1);
    program_.steps_.push_back(std::move(step));
    return target;
  }

  void add_kernel(const Claim& claim) {
    const ClaimSlots slots = slots_of(claim.nodes);
    const Node& node = *claim.nodes.front();
    const uint32_t space = devices_.space_of(claim.candidate->device, owners_[owner_index(claim)]);
    Step step;
    step.label = node.label();
    step.node = node.name;
    step.op_type = claim.nodes.size() == 1 ? node.op_type : claim.kernel;
    step.nodes.assign(claim.nodes.begin(), claim.nodes.end());
    step.kernel_name = claim.kernel;
    step.provider = claim.candidate->provider->name();
    step.device = claim.candidate->device.to_string();
    step.owner = claim.candidate->provider;
    step.space = space;
    for (size_t i = 0; i < slots.inputs.size(); ++i) {
      const uint32_t flags = claim.inputs[i].flags;
      const GraphValue* value = slots.inputs[i];
      step.inputs.push_back(input_slot(value, claim.inputs[i], space));
      if (value && (flags & GANTRY_PORT_SIGNATURE)) mark_signature(value);
    }
    for (size_t i = 0; i < slots.outputs.size(); ++i) {
      const GraphValue* value = slots.outputs[i];
      const bool on_host = (claim.outputs[i].flags & GANTRY_PORT_HOST) != 0;
      const uint32_t slot =
          value ? made_slot(value, on_host ? 0 : space, format_of(value)) : kNoSlot;
      if (value) makers_[slot] = &claim;
      if (value && on_host) program_.slots_[slot].event_space = space;
      step.outputs.push_back(slot);
      step.wanted.push_back(value && value->is_read() ? 1 : 0);
    }
    step.output_ports = claim.outputs;
    uncompiled_.push_back({&claim, slots, program_.steps_.size()});
    program_.steps_.push_back(std::move(step));
  }

  [[nodiscard]] size_t owner_index(const Claim& claim) const {
    for (size_t i = 0; i < owners_.size(); ++i) {
      const PluginDevice& device = owners_[i].front().device();
      if (device.info.device == claim.candidate->device) return i;
    }
    throw Error(Code::kInternal, "device " + claim.candidate->device.to_string() + " has no owner");
  }

  void add_control_flow(Node& node) {
    Step step;
    step.kind = StepKind::kControlFlow;
    step.label = node.label();
    step.node = node.name;
    step.op_type = node.op_type;
    step.provider = "core";
    step.device = "CPU:0";
    step.control = &node;
    for (const GraphValue* value : node.inputs)
      step.inputs.push_back(value ? readable(value, 0) : kNoSlot);
    for (const GraphValue* value : node.captures) step.inputs.push_back(readable(value, 0));
    for (const GraphValue* value : node.outputs) {
      step.outputs.push_back(value ? made_slot(value, 0) : kNoSlot);
      step.wanted.push_back(value && value->is_read() ? 1 : 0);
    }
    step.output_ports.resize(node.outputs.size());
    const BuildOptions options = {.leaves_session = false,
                                  .trace = options_.trace,
                                  .threads = options_.threads,
                                  .model = options_.model,
                                  .artefact = options_.artefact};
    program_.bodies_.resize(program_.steps_.size() + 1);
    for (const Graph* body : bodies_by_role(node)) {
      program_.bodies_.back().push_back(
          std::make_unique<Program>(*placement_.bodies.at(body), devices_, owners_, options));
    }
    program_.steps_.push_back(std::move(step));
  }

  void mark_signature(const GraphValue* value) {
    const auto& inputs = placement_.graph->inputs;
    const auto found = std::find(inputs.begin(), inputs.end(), value);
    if (found != inputs.end())
      program_.signature_inputs_[static_cast<size_t>(found - inputs.begin())] = 1;
  }

  void add_outputs() {
    for (const GraphValue* value : placement_.graph->outputs()) {
      const uint32_t slot = readable(value, 0);
      SlotInfo& info = program_.slots_[slot];
      const bool direct = options_.leaves_session && made_.contains(slot) && info.output == kNoSlot;
      if (direct) info.output = static_cast<uint32_t>(program_.outputs_.size());
      program_.outputs_.push_back({slot, direct});
    }
  }

  Program& program_;
  const GraphPlacement& placement_;
  DeviceTable& devices_;
  const std::vector<std::vector<DeviceProvider>>& owners_;
  const BuildOptions& options_;
  std::unordered_map<const GraphValue*, Format> formats_;
  /// by value, space, and whether it is in the value's format
  std::map<std::tuple<const GraphValue*, uint32_t, bool>, uint32_t> slots_;
  std::unordered_map<uint32_t, const Claim*> makers_;  // by slot
  std::set<uint32_t> made_;                            // slots that a step writes
  std::vector<UncompiledClaim> uncompiled_;
  std::unordered_map<const GraphValue*, uint32_t> host_constants_;
  std::unordered_map<const GraphValue*, uint32_t> aligned_constants_;
};

Program::Program(const GraphPlacement& placement, DeviceTable& devices,
                 const std::vector<std::vector<DeviceProvider>>& owners,
                 const BuildOptions& options) {
  ProgramBuilder(*this, placement, devices, owners, options).run();
}

Program::~Program() = default;

Implementations Program::implementations() const {
  Implementations all;
  for (const Step& step : steps_) {
    const gantry_str& text = step.kernel.raw().implementation;
    for (const Node* node : step.nodes) {
      if (text.length > 0) all.emplace(node, to_view(text));
    }
  }
  for (const Bodies& bodies : bodies_) {
    for (const auto& body : bodies) all.merge(body->implementations());
  }
  return all;
}

}  // namespace gantry
