// SPDX-License-Identifier: Apache-2.0
// Claims: which nodes of a graph this provider runs, and which of them in one fusion.
#pragma once

#include <gantry/provider.h>

namespace gantry::x86 {

/// Reports claims, the preferred first, and the reasons of refusals to the request's sink. [any]
void claim_nodes(const gantry_host* host, const gantry_claim_request& request);

}  // namespace gantry::x86
