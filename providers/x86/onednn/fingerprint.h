// SPDX-License-Identifier: Apache-2.0
// What decides whether the choices of an earlier start fit a claim. Pure.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <string>

namespace gantry::x86 {

using sdk::GraphIndex;

/// The library's build, the instructions that it uses, and a digest of the claim: operators, names,
/// attributes, types and shapes, and what stands in constants of a few numbers. What stands in
/// others is the host's to compare: it hands a blob to the claim that wrote it (docs/ABI.md, H12),
/// and where packed weights come from a file nobody else reads the model's.
std::string fingerprint_of(const GraphIndex& index, const gantry_compile& args);

}  // namespace gantry::x86
