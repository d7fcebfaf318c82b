// SPDX-License-Identifier: Apache-2.0
// The parts of a program: slots for values, and the steps that read and write them. Code that only
// examines steps includes this header and not program.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "placement/graph_placement.h"

namespace gantry {

inline constexpr uint32_t kNoSlot = UINT32_MAX;

/// A value in one memory space. A value has a slot in the space where it is made and in every space
/// that reads it.
struct SlotInfo {
  std::string name;
  const TypeInfo* type = nullptr;  ///< as declared; borrowed from the graph
  uint32_t space = 0;
  ValueRef constant;  ///< set: always this value
  /// the graph output that the slot is, which has new memory in each run, outside the arena
  uint32_t output = kNoSlot;
  /// host memory written by the device of this space: readers wait for its event
  uint32_t event_space = 0;
  std::shared_ptr<const gantry_format> format;  ///< null: dense
  /// of a slot in host memory: the shared-memory region (DeviceTable::shared_region_of) in which a
  /// worker process reads or makes the value in place; 0: none
  uint32_t shared_region = 0;
  /// of a slot on a device that is only copied to the host for this graph output: if the caller's
  /// tensor is on the device, the value is made in that tensor
  uint32_t resident_output = kNoSlot;
};

/// Owns a compiled kernel.
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

/// kReorder: the provider that made a value copies it into dense order.
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
  uint32_t space = 0;  ///< of the kernel; of a copy the device's, between two devices the target's
  std::shared_ptr<PluginProvider> owner;  ///< must outlive the kernel, so it is declared first
  CompiledKernel kernel;
  uint64_t mark = 0;              ///< crash mark: names the kernel if the process crashes in it
  std::vector<uint32_t> inputs;   ///< slots, or kNoSlot
  std::vector<uint32_t> outputs;  ///< slots, or kNoSlot
  std::vector<Port> output_ports;
  std::vector<uint8_t> wanted;  ///< by output
  /// by input: no later step reads that slot, and its memory may be reused for an output
  std::vector<uint8_t> ends_here;
  std::vector<uint32_t> releases;  ///< slots whose last use is this step
  std::vector<uint32_t> waits;     ///< slots whose event the host waits for before this step
  /// Number of steps of the capturable segment that begins with this step; 0: no segment does.
  uint32_t capturable_steps = 0;
  const Node* control = nullptr;  ///< the If, Loop or Scan node; Program::bodies has its bodies
};

/// The slot of a graph output.
struct OutputSource {
  uint32_t slot = kNoSlot;
  bool direct = false;  ///< the caller receives the slot's own memory; else a copy of its value
};

}  // namespace gantry
