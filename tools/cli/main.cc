// SPDX-License-Identifier: Apache-2.0
#include <gantry/error.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

#include "command.h"
#include "command_names.h"
#include "output.h"
#include "suggest.h"

namespace gantry::cli {
namespace {

Status usage_error(const std::string& message) {
  print_error(message);
  return kUsage;
}

// The command that was being parsed when it failed; the application itself if none was.
const CLI::App& parsed_command(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

bool has_commands(const CLI::App& command) { return !command.get_subcommands(nullptr).empty(); }

Status report_usage(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = parsed_command(app);
  const std::string help = words_of(command) + " --help";
  const std::vector<std::string> extras = app.remaining(true);
  // CLI11 reports a mistyped command as a missing one.
  const bool is_unknown = dynamic_cast<const CLI::ExtrasError*>(&error) || has_commands(command);
  if (is_unknown && !extras.empty()) {
    const std::string& first = extras.front();
    const std::string what = first.starts_with('-')  ? "option"
                             : has_commands(command) ? "command"
                                                     : "argument";
    return usage_error("unknown " + what + " \"" + first + "\", see " + help +
                       did_you_mean(first, names_of(command)));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) && has_commands(command)) {
    return usage_error("a command is needed: " + join(names_of(command), ", ", "--") + ", see " +
                       help);
  }
  return usage_error(std::string(error.what()) + ", see " + help);
}

Status run_action(const Action& action) {
  try {
    return action();
  } catch (const CLI::ValidationError& error) {
    return usage_error(error.what());
  } catch (const std::bad_alloc&) {
    print_error("there is not enough memory");
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  return kError;
}

// A full disk, a closed pipe or a closed descriptor must not look like success.
int end(int status) {
  if (flush_output() || status != kGood) return status;
  print_error("the output cannot be written");
  return kError;
}

int run(int argc, char** argv) {
  open_standard_streams();
  CLI::App app{"Runs ONNX models on the devices that provider plugins bring.", "gantry"};
  app.set_version_flag("--version", "gantry " GANTRY_VERSION);
  app.require_subcommand(1);
  app.footer("Exit status: 0 good, 1 the answer is no, 2 wrong usage, 3 an error.");
  Action action;
  add_devices(app, action);
  add_doctor(app, action);
  add_run(app, action);
  add_check(app, action);
  add_explain(app, action);
  add_bench(app, action);
  add_inspect(app, action);
  add_config(app, action);
  add_provider(app, action);
  add_sdk(app, action);
  add_completion(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return end(app.exit(help));
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error);
  }
  keep_standard_output();
  return end(run_action(action));
}

}  // namespace
}  // namespace gantry::cli

int main(int argc, char** argv) { return gantry::cli::run(argc, argv); }
