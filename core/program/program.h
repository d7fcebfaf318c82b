// SPDX-License-Identifier: Apache-2.0
// A placed graph compiled to steps: kernels, copies between memory spaces and control flow, in the
// order in which they are issued. A program is immutable and shared by all execution contexts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "memory/device_table.h"
#include "placement/placement.h"
#include "program/build_options.h"
#include "program/step.h"

namespace gantry {

class Program {
 public:
  using Bodies = std::vector<std::unique_ptr<Program>>;

  /// Compiles every claim. The graph must outlive the program. Throws CompileFailure, whose message
  /// has the node, the provider and the provider's error; DEVICE_LOST; OUT_OF_MEMORY for constants.
  Program(const GraphPlacement& placement, DeviceTable& devices,
          const std::vector<std::vector<DeviceProvider>>& owners, const BuildOptions& options);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  /// The programs of the bodies of a control-flow step: then, else; or the one body. None of other
  /// steps.
  [[nodiscard]] const Bodies& bodies(size_t step) const { return bodies_[step]; }
  /// gantry_kernel.implementation of the nodes that have one, nodes of bodies included. Borrowed
  /// from the kernels.
  [[nodiscard]] Implementations implementations() const;
  [[nodiscard]] const std::vector<SlotInfo>& slots() const { return slots_; }
  /// by graph input; kNoSlot: not read
  [[nodiscard]] const std::vector<uint32_t>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<uint32_t>& captures() const { return captures_; }  ///< likewise
  [[nodiscard]] const std::vector<OutputSource>& outputs() const { return outputs_; }
  /// by graph input
  [[nodiscard]] const std::vector<uint8_t>& signature_inputs() const { return signature_inputs_; }
  /// by graph input: the space of the only device that reads it; 0: the host or several spaces do
  [[nodiscard]] const std::vector<uint32_t>& resident_inputs() const { return resident_inputs_; }
  /// by graph output: the space of the device that makes it for the caller only, the slot whose
  /// `resident_output` it is; else 0
  [[nodiscard]] const std::vector<uint32_t>& resident_outputs() const { return resident_outputs_; }
  [[nodiscard]] bool has_capturable_segments() const { return has_capturable_segments_; }
  [[nodiscard]] uint64_t copies() const { return copies_; }  ///< copy steps, bodies included
  /// size of all constants that runs use, bodies included
  [[nodiscard]] uint64_t constant_bytes() const;

 private:
  friend class ProgramBuilder;
  std::vector<Step> steps_;
  std::vector<Bodies> bodies_;  // by step
  std::vector<SlotInfo> slots_;
  std::vector<uint32_t> inputs_;
  std::vector<uint32_t> captures_;
  std::vector<OutputSource> outputs_;
  std::vector<uint8_t> signature_inputs_;
  std::vector<uint32_t> resident_inputs_;
  std::vector<uint32_t> resident_outputs_;
  uint64_t copies_ = 0;
  bool has_capturable_segments_ = false;
};

/// Calls `take` for every step, and for the steps of bodies after the step that runs them. `name`:
/// of the step's first node, as NodePlacement has it ("outer/body/inner"). `depth`: number of
/// bodies that enclose the step.
void for_each_step(
    const Program& program,
    const std::function<void(const Step&, const std::string& name, uint32_t depth)>& take);

}  // namespace gantry
