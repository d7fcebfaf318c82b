// SPDX-License-Identifier: Apache-2.0
// The fragment of a compile call in the checks: one node, for providers that ask for theirs as a
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

/// Fills fragment_model and fragment_weight. Nodes with constants or with attributes other than
/// numbers, texts and lists of integers are answered by UNSUPPORTED; no model has weights apart.
void add_fragment_services(gantry_host& table);

}  // namespace gantry::checks
