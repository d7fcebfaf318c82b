// SPDX-License-Identifier: Apache-2.0
// Names that people type: the nearest known one for a message, and patterns with wild cards. Pure
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

/// The candidate that `name` was most likely meant to be (few letters apart, case ignored); empty
/// if none is near.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// The same of device types: for "GPU" the type that a maker's library gives its GPUs, and never
/// "CPU".
std::string nearest_device_type(std::string_view name, const std::vector<std::string>& types);

/// ` Did you mean "x"?` for the nearest candidate, or nothing.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// `. Did you mean SUGGESTION?`, to end a sentence with, or nothing if there is no suggestion.
std::string suggest(const std::string& suggestion);

/// True if `text` matches `pattern` as a whole; * stands for any characters, ? for one.
bool matches_pattern(std::string_view pattern, std::string_view text);

/// `a, b and c`; "none" if empty.
std::string list_names(const std::vector<std::string>& names);

}  // namespace gantry
