// SPDX-License-Identifier: Apache-2.0
// The subcommands of `gantry provider`, for authors of providers, one in each file
// provider_<name>.cc.
#pragma once

#include "command.h"

namespace gantry::cli {

void add_provider_lint(CLI::App& provider, Action& chosen);
void add_provider_new(CLI::App& provider, Action& chosen);
void add_provider_test(CLI::App& provider, Action& chosen);

}  // namespace gantry::cli
