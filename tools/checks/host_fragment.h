// SPDX-License-Identifier: Apache-2.0
// The fragment of a compile call in the checks: one node, for providers that request it as an ONNX
// model.
#pragma once

#include <gantry/provider.h>

namespace gantry::checks {

/// gantry_fragment at the boundary. Borrowed during one compile call.
struct HostFragment {
  const gantry_graph* graph = nullptr;
  uint32_t node = 0;
};
inline gantry_fragment* to_boundary(HostFragment& fragment) {
  return reinterpret_cast<gantry_fragment*>(&fragment);
}

/// Fills slots fragment_model and fragment_weight. Nodes with constants, or with attributes other
/// than numbers, strings and lists of integers, are UNSUPPORTED. No model has external weights.
void add_fragment_services(gantry_host& table);

}  // namespace gantry::checks
