// SPDX-License-Identifier: Apache-2.0
// Names of commands and options, for completion and suggestions. Pure functions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gantry::cli {

/// The full command, "gantry config check".
std::string words_of(const CLI::App& command);

/// The subcommands and options ("--json") of a command.
std::vector<std::string> names_of(const CLI::App& command);

}  // namespace gantry::cli
