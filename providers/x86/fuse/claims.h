// SPDX-License-Identifier: Apache-2.0
// The answer to the question which nodes of a graph this provider takes, and in which sets.
#pragma once

#include <gantry/provider.h>

namespace gantry::x86 {

/// Tells the request's sink claims and refusals. Pure but for that. [any]
void claim_nodes(const gantry_host* host, const gantry_claim_request& request);

}  // namespace gantry::x86
