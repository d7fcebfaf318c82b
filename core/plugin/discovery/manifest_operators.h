// SPDX-License-Identifier: Apache-2.0
// Reads the member `operators` of a manifest (docs/MANIFEST.md#operators). A pure function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/declared_operator.h"
#include "plugin/discovery/manifest_reader.h"

namespace gantry {

/// Whether a domain's operators are those of ONNX or of gantry itself, which no provider declares.
bool is_known_domain(std::string_view domain);

/// None if the member is absent. `warnings`: receives one for each unknown member. INVALID_ARGUMENT
/// as ManifestReader.
std::vector<DeclaredOperator> read_operators(const ManifestReader& reader,
                                             std::vector<std::string>& warnings);

/// The operators in a JSON array of that form. `origin`: whose they are, in messages. Errors as
/// above.
std::vector<DeclaredOperator> parse_operators(const std::string& text, const std::string& origin);

}  // namespace gantry
