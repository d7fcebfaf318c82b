// SPDX-License-Identifier: Apache-2.0
// Which values of a placed graph are copied between memory spaces in every run, and what that
// costs. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/graph_placement.h"

namespace gantry {

/// A value that is made in one memory space and read in another.
struct Transfer {
  const GraphValue* value = nullptr;
  Device from;  ///< `CPU:0` stands for host memory
  Device to;
};

constexpr uint32_t kHostSpace = 0;

/// Numbers memory spaces in the order of first use; kHostSpace is host memory.
class SpaceNumbers {
 public:
  /// The space in which kernels of the candidate work.
  uint32_t of(const Candidate& candidate);
  [[nodiscard]] const Device& device(uint32_t space) const { return devices_[space]; }
  /// As DeviceTable::can_copy_between: true if values are copied directly between the spaces.
  [[nodiscard]] bool can_copy_between(uint32_t from, uint32_t to) const;

 private:
  std::vector<Device> devices_{1};
  std::vector<const PluginProvider*> providers_{nullptr};
};

/// True if a slot with these port flags is read or written in host memory, whatever the device.
inline bool is_host_port(const Port& port) {
  return (port.flags & (GANTRY_PORT_HOST | GANTRY_PORT_SIGNATURE)) != 0;
}

/// The copies of one graph, in the order of its values; bodies are graphs of their own. Constants
/// are uploaded once and are no transfers. Between two devices a value goes through host memory,
/// unless their provider has peer copies and the graph is no body.
std::vector<Transfer> transfers_of(const GraphPlacement& placement, bool is_body);

/// Size of a value in bytes, unknown extents counted as 1; 0 for strings, for values that are no
/// tensors and for unknown types.
uint64_t estimated_bytes(const GraphValue& value);

/// Estimated time of one transfer in nanoseconds: a launch, a wait, and the bytes over PCIe.
double transfer_ns(uint64_t bytes);

}  // namespace gantry
