// SPDX-License-Identifier: Apache-2.0
// The provider's options, as the schema in sim.json describes them and README.md explains them.
// Immutable.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::sim {

/// When a fault strikes: at the n-th event, or at every event of an operator.
struct Trigger {
  uint64_t number = 0;  ///< from 1; 0: never
  std::string op_type;  ///< empty: no operator

  /// True if event `count`, of `operator_name`, triggers the fault.
  [[nodiscard]] bool hits(uint64_t count, std::string_view operator_name) const {
    return count == number || (!op_type.empty() && op_type == operator_name);
  }
};

/// Faults to simulate. Events are counted for each device separately.
struct Faults {
  uint32_t device = std::numeric_limits<uint32_t>::max();  ///< the device with faults; the largest
                                                           ///< number: all devices
  Trigger allocate;
  Trigger copy;
  Trigger compile;
  Trigger run;
  Trigger device_lost;
  Trigger hang;
  uint64_t hang_ms = 0;  ///< 0: for ever
  uint64_t slow_ns = 0;

  [[nodiscard]] bool concern(uint32_t id) const {
    return device == std::numeric_limits<uint32_t>::max() || device == id;
  }
};

struct Options {
  uint32_t devices = 2;
  std::vector<uint32_t> absent;  ///< ids that are reported as absent
  uint64_t memory_bytes = uint64_t{64} << 20;
  std::vector<std::string> operators;  ///< empty: all
  uint64_t latency_us = 50;
  uint64_t jitter_us = 0;
  uint64_t seed = 0;
  uint32_t rendezvous = 0;  ///< devices that wait for each other in their first kernels; 0: none
  bool capture = true;
  bool peer_copies = true;
  std::vector<std::string> no_capture;  ///< operators whose kernels must not be captured
  bool journal = false;
  Faults faults;

  /// Parses options. Requires JSON that conforms to the manifest's schema.
  explicit Options(gantry_str text);
};

}  // namespace gantry::sim
