// SPDX-License-Identifier: Apache-2.0
// The commands of `gantry provider`, for those who write one: each in a file provider_<name>.cc.
#pragma once

#include "command.h"

namespace gantry::cli {

void add_provider_lint(CLI::App& provider, Action& chosen);
void add_provider_new(CLI::App& provider, Action& chosen);
void add_provider_test(CLI::App& provider, Action& chosen);

}  // namespace gantry::cli
