// SPDX-License-Identifier: Apache-2.0
// Positions of members in a configuration document that may be invalid: parts that violate the
// schema are ignored. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "plugin/discovery/strict_json.h"

namespace gantry {

/// A JSON pointer and the string at that position.
using PlacedText = std::pair<std::string, std::string>;

/// The member at `pointer`; null if there is none.
const nlohmann::json* member_at(const nlohmann::json& root, const std::string& pointer);
/// The strings of the array at `pointer`.
std::vector<PlacedText> placed_texts(const nlohmann::json& root, const std::string& pointer);
/// Every device that the document names.
std::vector<PlacedText> placed_devices(const nlohmann::json& root);

/// A problem whose text ends in the suggestion, JSON to put in its place; empty: no suggestion.
JsonProblem problem_with_suggestion(std::string pointer, const std::string& what,
                                    const std::string& suggestion, bool is_in_name = false);

}  // namespace gantry
