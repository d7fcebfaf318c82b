// SPDX-License-Identifier: Apache-2.0
// A fast check of documents against simple JSON Schemas. Compiling a schema for the validator takes
// longer than everything else done with a manifest or a configuration. Both answers are one-sided:
// false only means that the validator must decide. Pure functions.
#pragma once

#include <nlohmann/json.hpp>

namespace gantry {

/// True: a valid JSON Schema that uses only types, members, items, enumerations, bounds and
/// annotations.
bool is_plain_schema(const nlohmann::json& schema);

/// True: the document is valid. Requires a plain schema.
bool fits_plainly(const nlohmann::json& schema, const nlohmann::json& document);

}  // namespace gantry
