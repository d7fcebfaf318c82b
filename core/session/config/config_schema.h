// SPDX-License-Identifier: Apache-2.0
// The schema that every configuration document is checked against. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace gantry {

/// config_schema(), parsed once in the process.
const nlohmann::json& parsed_config_schema();

}  // namespace gantry
