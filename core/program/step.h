// SPDX-License-Identifier: Apache-2.0
// What a program is made of: slots for values, and the steps that read and write them. Nothing here
// knows of the program, so that what examines its steps needs no more than these types.
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
  uint32_t capturable_steps = 0;
  const Node* control = nullptr;  ///< of control flow; Program::bodies has its bodies
};

/// Where an output of the graph comes from.
struct OutputSource {
  uint32_t slot = kNoSlot;
  bool direct = false;  ///< the slot leaves the session; else its content is copied out
};

}  // namespace gantry
