// SPDX-License-Identifier: Apache-2.0
// What can be typed behind a command. Pure functions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gantry::cli {

/// "gantry config check".
std::string words_of(const CLI::App& command);

/// The commands in it and its options, "--json".
std::vector<std::string> names_of(const CLI::App& command);

}  // namespace gantry::cli
