// SPDX-License-Identifier: Apache-2.0
// What stands where in a configuration document that may still be wrong: parts that are not what
// the schema asks for are passed over. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "plugin/discovery/strict_json.h"

namespace gantry {

/// A JSON pointer and the text that stands there.
using PlacedText = std::pair<std::string, std::string>;

/// The member at `pointer`; null if there is none.
const nlohmann::json* member_at(const nlohmann::json& root, const std::string& pointer);
/// The strings of the array at `pointer`.
std::vector<PlacedText> placed_texts(const nlohmann::json& root, const std::string& pointer);
/// Every device that the document names.
std::vector<PlacedText> placed_devices(const nlohmann::json& root);

/// A problem whose text ends in the suggestion, JSON that may stand there instead; empty: none.
JsonProblem problem_with_suggestion(std::string pointer, const std::string& what,
                                    const std::string& suggestion, bool is_in_name = false);

}  // namespace gantry
