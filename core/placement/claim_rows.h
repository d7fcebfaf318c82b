// SPDX-License-Identifier: Apache-2.0
// Calls gantry_provider_api.claim, and copies and checks the claims of one provider. Checks that
// involve several claims are the placement's. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gantry/device.h"
#include "plugin/graph_view.h"
#include "plugin/provider.h"

namespace gantry {

/// A provider of a device, in order of preference.
struct Candidate {
  std::shared_ptr<PluginProvider> provider;
  uint32_t device_index = 0;  ///< as the provider enumerated it
  Device device;
  std::string options = "{}";  ///< the provider's options for this session, JSON

  [[nodiscard]] bool has_host_memory() const {
    return provider->devices()[device_index].has_host_memory();
  }
};

/// What a kernel requires of a slot; the host's copy of gantry_port.
struct Port {
  uint32_t flags = 0;
  uint64_t overwrites = 0;
  uint32_t repeats = UINT32_MAX;
  std::vector<gantry_format> formats;  ///< beyond the dense one, preferred first
};

/// The host's copy of gantry_claim.
struct ClaimRow {
  std::vector<uint32_t> nodes;  ///< ascending
  std::vector<Port> inputs;     ///< empty: no requirements
  std::vector<Port> outputs;    ///< empty: no requirements
  std::string kernel;
  uint64_t tag = 0;
  bool divisible = false;
  double time_ns = -1;  ///< of one run; negative: unknown
  uint64_t workspace_bytes = 0;
  std::string fault;  ///< not empty: why the claim is invalid, whatever the other claims are
};

struct ClaimAnswers {
  std::vector<ClaimRow> rows;         ///< in the provider's order, preferred first
  std::vector<std::string> refusals;  ///< by node; empty: none given
};

/// Calls one provider for one graph. A call that fails counts as a refusal of every node, with the
/// error as the reason.
ClaimAnswers ask_claims(const Candidate& candidate, const GraphView& view);

}  // namespace gantry
