// SPDX-License-Identifier: Apache-2.0
// A placed graph compiled to steps: kernels, copies between memory spaces and control flow, in the
// order in which they are issued. A program is immutable and shared by all execution contexts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "schedule/device_table.h"
#include "schedule/placement.h"

namespace gantry {

class Artefact;
class OnnxModel;
class Program;
class Trace;

inline constexpr uint32_t kNoSlot = UINT32_MAX;

/// A value in one memory space. Every value has a slot in the space where it is made and in each
/// space that reads it.
struct SlotInfo {
  std::string name;
  const TypeInfo* type = nullptr;  ///< as declared; borrowed from the graph
  uint32_t space = 0;
  ValueRef constant;  ///< set: always this value
  /// session output it is: memory of its own in each run, never the arena's
  uint32_t output = kNoSlot;
  /// host memory written by the device of this space: readers wait for its event
  uint32_t event_space = 0;
  std::shared_ptr<const gantry_format> format;  ///< null: dense
  /// of space 0, if not 0: the area (DeviceTable::area_of) in which a worker process reads or makes
  /// it in place
  uint32_t area = 0;
  /// of a device: the session output that it is copied to for nobody else; where the caller's
  /// memory is the device's, it is made there
  uint32_t resident_output = kNoSlot;
};

/// A compiled kernel; owns it.
class CompiledKernel {
 public:
  CompiledKernel() = default;
  CompiledKernel(CompiledKernel&& other) noexcept : kernel_(std::exchange(other.kernel_, {})) {}
  CompiledKernel& operator=(CompiledKernel&& other) noexcept {
    std::swap(kernel_, other.kernel_);
    return *this;
  }
  ~CompiledKernel() {
    if (kernel_.destroy) kernel_.destroy(kernel_.self);
  }
  gantry_kernel& raw() { return kernel_; }
  [[nodiscard]] const gantry_kernel& raw() const { return kernel_; }

 private:
  gantry_kernel kernel_ = {};
};

/// A reorder brings a value into the dense order, by the provider that made it.
enum class StepKind : uint8_t { kKernel, kCopy, kReorder, kControlFlow };

struct Step {
  StepKind kind = StepKind::kKernel;
  std::string label;               ///< of the nodes, for messages: `Conv "c3"`
  std::string node;                ///< name of the first node, for profiles
  std::vector<const Node*> nodes;  ///< of a kernel; borrowed from the graph
  std::string op_type;
  std::string provider;
  std::string kernel_name;  ///< the provider's
  std::string device;
  uint32_t space = 0;  ///< where the kernel runs; of a copy the device's space, of two the target's
  std::shared_ptr<PluginProvider> owner;  ///< outlives the kernel, so it stands before it
  CompiledKernel kernel;
  uint64_t mark = 0;              ///< that its kernel runs, for a process that ends in it
  std::vector<uint32_t> inputs;   ///< slots, or kNoSlot
  std::vector<uint32_t> outputs;  ///< slots, or kNoSlot
  std::vector<Port> output_ports;
  std::vector<uint8_t> wanted;  ///< by output
  /// by input: nobody reads that slot later and its memory may be taken over
  std::vector<uint8_t> ends_here;
  std::vector<uint32_t> releases;  ///< slots whose last use is this step
  std::vector<uint32_t> waits;     ///< slots whose event the host waits for before this step
  /// Steps from here on, this one included, that may be captured as one; 0:
  /// none begin here.
  uint32_t stretch = 0;
  const Node* control = nullptr;  ///< of control flow
  std::vector<std::unique_ptr<Program>> bodies;
};

/// Where an output of the graph comes from.
struct OutputSource {
  uint32_t slot = kNoSlot;
  bool direct = false;  ///< the slot leaves the session; else its content is copied out
};

/// What building a program needs besides the placement.
struct BuildOptions {
  /// outputs get memory of their own (the main graph); bodies hand theirs to the node
  bool leaves_session = true;
  Trace* trace = nullptr;  ///< takes a span for each kernel that is compiled
  uint32_t threads = 0;    ///< that a run may use; 0: not known
  /// each kernel's mark is the number of its step, from 1, and no provider's
  bool marks_steps = false;
  /// has the functions that nodes call, for providers that want theirs as a model; null: none
  const OnnxModel* model = nullptr;
  /// gives compiled forms to the providers and takes them; null: none are kept
  Artefact* artefact = nullptr;
};

/// A provider could not compile what it had claimed.
class CompileFailure : public Error {
 public:
  CompileFailure(const Error& error, FailedClaim which) : Error(error), claim(std::move(which)) {}
  FailedClaim claim;
};

class Program {
 public:
  /// Compiles every claim. The graph must outlive the program. Throws
  /// CompileFailure, whose message names the node, the provider and what its
  /// compile says; DEVICE_LOST; OUT_OF_MEMORY for constants.
  Program(const GraphPlacement& placement, DeviceTable& devices,
          const std::vector<std::vector<DeviceProvider>>& owners, const BuildOptions& options);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<SlotInfo>& slots() const { return slots_; }
  /// by graph input; kNoSlot: not read
  [[nodiscard]] const std::vector<uint32_t>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<uint32_t>& captures() const { return captures_; }  ///< likewise
  [[nodiscard]] const std::vector<OutputSource>& outputs() const { return outputs_; }
  /// by graph input
  [[nodiscard]] const std::vector<uint8_t>& signature_inputs() const { return signature_inputs_; }
  /// by graph input: the device space that it is copied to, if nothing else reads it; else 0
  [[nodiscard]] const std::vector<uint32_t>& input_homes() const { return input_homes_; }
  /// by graph output: the space of the slot whose `resident_output` it is; else 0
  [[nodiscard]] const std::vector<uint32_t>& output_homes() const { return output_homes_; }
  [[nodiscard]] bool has_stretches() const { return has_stretches_; }
  [[nodiscard]] uint64_t copies() const { return copies_; }  ///< copy steps, bodies included
  /// of all constants kept for runs, bodies included
  [[nodiscard]] uint64_t constant_bytes() const;

 private:
  friend class ProgramBuilder;
  std::vector<Step> steps_;
  std::vector<SlotInfo> slots_;
  std::vector<uint32_t> inputs_;
  std::vector<uint32_t> captures_;
  std::vector<OutputSource> outputs_;
  std::vector<uint8_t> signature_inputs_;
  std::vector<uint32_t> input_homes_;
  std::vector<uint32_t> output_homes_;
  uint64_t copies_ = 0;
  bool has_stretches_ = false;
};

/// Every step, bodies after the step that runs them, with the name that a placement gives to its
/// first node ("outer/body/inner") and how many bodies it is in.
void for_each_step(
    const Program& program,
    const std::function<void(const Step&, const std::string& name, uint32_t depth)>& take);

}  // namespace gantry
