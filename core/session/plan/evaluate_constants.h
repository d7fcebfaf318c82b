// SPDX-License-Identifier: Apache-2.0
// Constant folding on the CPU, as a session plans its model. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/value.h"
#include "graph/graph.h"
#include "session/plan/preference.h"

namespace gantry {

/// Returns the device CPU at full precision, for constant folding; called when there is something
/// to fold.
using HostPreference = std::function<Preference()>;

/// `registry` must outlive what is returned.
HostPreference folding_host(ProviderRegistry& registry, const Config& config);

/// Computes the outputs of a graph of constants with CPU kernels. Returns nothing if a kernel is
/// missing or fails, or memory runs out; the node then fails, if it does, in a run. `left_bytes`:
/// the rest of session.memory_limit_bytes; the size of the outputs is subtracted. CANCELLED,
/// DEADLINE_EXCEEDED: loading is to end.
std::vector<ValueRef> evaluate_constants(const HostPreference& find_host, const Graph& graph,
                                         uint64_t& left_bytes);

}  // namespace gantry
