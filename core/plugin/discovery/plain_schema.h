// SPDX-License-Identifier: Apache-2.0
// What can be said of a schema and a document without compiling the schema, which takes the
// validator longer than everything else that is done with a manifest or a configuration. Both
// answers are one-sided: "no" only means that the validator has to be asked. Pure functions.
#pragma once

#include <nlohmann/json.hpp>

namespace gantry {

/// True: a JSON Schema of nothing but types, members, items, choices, bounds and texts, which the
/// validator takes.
bool is_plain_schema(const nlohmann::json& schema);

/// True: the validator finds nothing wrong with the document. Requires a plain schema.
bool fits_plainly(const nlohmann::json& schema, const nlohmann::json& document);

}  // namespace gantry
