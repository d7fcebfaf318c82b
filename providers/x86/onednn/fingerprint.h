// SPDX-License-Identifier: Apache-2.0
// The fingerprint under which the choices for a claim (sdk::Choices) are cached. Pure.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <string>

namespace gantry::x86 {

using sdk::GraphIndex;

/// oneDNN's version, build and instruction set, and a digest of the claim: tag, threads, options,
/// granted formats, operators, names, attributes, dtypes, shapes, and the contents of constants of
/// at most 256 bytes. Larger constants are the host's to compare: it hands a blob only to the claim
/// that wrote it (docs/ABI.md, H12). If packed weights come from the compiled-model cache, nobody
/// else reads the model's.
std::string fingerprint_of(const GraphIndex& index, const gantry_compile& args);

}  // namespace gantry::x86
