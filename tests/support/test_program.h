// SPDX-License-Identifier: Apache-2.0
// A model in text form, placed on devices of WorkingProvider and compiled to a program.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model_text.h"
#include "placement/placement.h"
#include "program/program.h"
#include "run/executor.h"
#include "working_provider.h"

namespace gantry::test {

class TestProgram {
 public:
  /// `devices`: in order of preference. `sent`: node -> device, whatever the preference.
  explicit TestProgram(const std::string& model, const std::vector<std::string>& devices = {"HST"},
                       const std::map<std::string, std::string>& sent = {},
                       const BuildOptions& options = {})
      : registry_({}, SearchEnvironment{}), devices_(std::make_shared<DeviceTable>()) {
    WorkingProvider::add_to(registry_);
    graph_ = graph_of(model);
    graph_->renumber();
    for (const std::string& name : devices) {
      const Device device = Device::parse(name);
      owners_.push_back(registry_.find(device));
      const DeviceProvider& owner = owners_.back().front();
      candidates_.push_back({owner.provider, owner.device_index, device});
    }
    PlacementPolicy policy;
    for (const auto& [node, device] : sent) {
      policy.rules.push_back({[name = node](const Node& tested) { return tested.name == name; },
                              Device::parse(device)});
    }
    placement_ = place(*graph_, candidates_, policy);
    program_ = std::make_unique<Program>(*placement_, *devices_, owners_, options);
  }

  [[nodiscard]] const Graph& graph() const { return *graph_; }
  [[nodiscard]] const GraphPlacement& placement() const { return *placement_; }
  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return program_->steps(); }
  [[nodiscard]] const DeviceTable& devices() const { return *devices_; }
  [[nodiscard]] const std::shared_ptr<DeviceTable>& shared_devices() const { return devices_; }

  /// "Neg(x)>a" for each step: its operator, what it reads and what it makes, with * behind values
  /// in the memory of a device.
  [[nodiscard]] std::vector<std::string> outline() const {
    std::vector<std::string> lines;
    for (const Step& step : steps()) {
      std::string line = step.op_type + "(";
      for (const uint32_t slot : step.inputs)
        line += (line.back() == '(' ? "" : ",") + slot_text(slot);
      line += ")";
      for (const uint32_t slot : step.outputs) line += ">" + slot_text(slot);
      lines.push_back(line);
    }
    return lines;
  }

  /// Once; the program is the executor's from then on.
  Executor& start(const Executor::Options& options = {}, Trace* trace = nullptr) {
    executor_ = std::make_unique<Executor>(std::move(program_), devices_, 1, trace, options);
    return *executor_;
  }

 private:
  [[nodiscard]] std::string slot_text(uint32_t slot) const {
    if (slot == kNoSlot) return "-";
    const SlotInfo& info = program_->slots()[slot];
    return info.name + (info.space == 0 ? "" : "*");
  }

  ProviderRegistry registry_;
  std::unique_ptr<Graph> graph_;
  std::vector<std::vector<DeviceProvider>> owners_;
  std::vector<Candidate> candidates_;
  std::unique_ptr<GraphPlacement> placement_;
  std::shared_ptr<DeviceTable> devices_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Executor> executor_;
};

/// A float tensor of one axis.
inline ValueRef floats(const std::vector<float>& elements) {
  ValueRef value = make_tensor(DType::kFloat, {static_cast<int64_t>(elements.size())});
  std::memcpy(value->view.data, elements.data(), elements.size() * sizeof(float));
  return value;
}

/// Its elements.
inline std::vector<float> elements_of(const gantry_value& value) {
  const auto* data = static_cast<const float*>(value.view.data);
  return {data, data + value.view.size_bytes / sizeof(float)};
}

/// Runs once with new outputs.
inline std::vector<std::vector<float>> run(Executor& executor, const std::vector<ValueRef>& inputs,
                                           const RunOptions& options = {}) {
  std::vector<ValueRef> outputs(executor.program().outputs().size());
  executor.run(inputs, outputs, options);
  std::vector<std::vector<float>> elements;
  elements.reserve(outputs.size());
  for (const ValueRef& output : outputs) elements.push_back(elements_of(*output));
  return elements;
}

}  // namespace gantry::test
