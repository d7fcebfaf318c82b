// SPDX-License-Identifier: Apache-2.0
// The commands of `gantry`. Each lives in a file command_<name>.cc, adds its options to the
// application and leaves an action that main runs once the whole command line is known to be good.
// What an action throws is printed as one sentence, status 3.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace gantry::cli {

/// Exit statuses, the same for every command.
enum Status : int {
  kGood = 0,
  kNo = 1,  ///< the command worked and the answer is no: not compatible, outputs differ, no device
  kUsage = 2,  ///< the command line is wrong
  kError = 3,
};

using Action = std::function<Status()>;

void add_devices(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);
void add_run(CLI::App& app, Action& chosen);
void add_check(CLI::App& app, Action& chosen);
void add_explain(CLI::App& app, Action& chosen);
void add_bench(CLI::App& app, Action& chosen);
void add_inspect(CLI::App& app, Action& chosen);
void add_config(CLI::App& app, Action& chosen);
void add_provider(CLI::App& app, Action& chosen);
void add_sdk(CLI::App& app, Action& chosen);
void add_completion(CLI::App& app, Action& chosen);

}  // namespace gantry::cli
