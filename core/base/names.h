// SPDX-License-Identifier: Apache-2.0
// Names that users type: the nearest known name for a message, and patterns with wildcards. Pure
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

/// The candidate with the smallest edit distance to `name`, case ignored; a prefix or suffix also
/// counts as near. Empty: none is near.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// The same for device types; for "GPU" a vendor's GPU type, and never "CPU".
std::string nearest_device_type(std::string_view name, const std::vector<std::string>& types);

/// ` Did you mean "x"?` for the nearest candidate, or nothing.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// `. Did you mean "x"?` for the nearest candidate, to end a sentence with, or nothing.
std::string suggest_nearest(std::string_view name, const std::vector<std::string>& candidates);

/// `. Did you mean SUGGESTION?`, to end a sentence with, or nothing if there is no suggestion.
std::string suggest(const std::string& suggestion);

/// True if the whole `text` matches `pattern`; * matches any characters, ? one.
bool matches_pattern(std::string_view pattern, std::string_view text);

/// `a, b and c`; "none" if empty.
std::string list_names(const std::vector<std::string>& names);

}  // namespace gantry
