// SPDX-License-Identifier: Apache-2.0
// gantry provider: create a provider, and lint and test it.
#include "command_provider.h"

namespace gantry::cli {

void add_provider(CLI::App& app, Action& chosen) {
  CLI::App* provider = app.add_subcommand("provider", "Write a provider, and check one");
  provider->require_subcommand(1);
  add_provider_new(*provider, chosen);
  add_provider_lint(*provider, chosen);
  add_provider_test(*provider, chosen);
}

}  // namespace gantry::cli
