// SPDX-License-Identifier: Apache-2.0
// The commands of `gantry`, one in each file command_<name>.cc. add_<name>() adds the command and
// its options to the application, and sets `chosen` if the command is parsed. main runs the chosen
// action after the whole command line is validated. An exception of the action is printed as one
// sentence, with status 3.
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
