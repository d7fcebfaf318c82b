// SPDX-License-Identifier: Apache-2.0
// gantry provider test: checks that a provider follows the rules of the ABI, in child processes.
// Status 1: a check failed.
#include <gantry/device.h>
#include <gantry/runtime.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "../checks/child.h"
#include "../checks/levels.h"
#include "../checks/open_provider.h"
#include "../checks/report.h"
#include "command_provider.h"
#include "options.h"
#include "output.h"
#include "suggest.h"

namespace gantry::cli {
namespace {

using checks::CheckResult;

struct TestOptions {
  checks::Subject subject;
  std::string junit;
  double timeout_s = 120;
  bool json = false;
  bool verbose = false;
  int child_fd = -1;
  size_t child_from = 0;
};

// Throws if no check matches --only: otherwise a mistyped name would look like success.
void expect_checks(const checks::Subject& subject) {
  checks::Subject all = subject;
  all.only.clear();
  std::vector<std::string> names;
  for (const checks::Check& check : checks::all_checks(all)) names.push_back(check.name);
  for (const std::string& pattern : subject.only) {
    const bool is_known = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return checks::is_named(pattern, name);
    });
    if (is_known) continue;
    throw CLI::ValidationError(
        "--only", fmt::format("expected the name of a check of level 1 to {}, with * and ?, found "
                              "\"{}\"{}; --all prints every name",
                              subject.level, pattern, did_you_mean(pattern, names)));
  }
}

// Validates the provider's options as creating a session would. A mistake in the manifest itself is
// a finding of the first check.
void expect_known(const checks::Subject& subject) {
  if (std::filesystem::is_directory(subject.manifest)) {
    throw CLI::ValidationError("MANIFEST", "expected a file, found the folder " + subject.manifest);
  }
  const nlohmann::json options = nlohmann::json::parse(subject.options, nullptr, false);
  if (!options.is_object()) {
    throw CLI::ValidationError("--options",
                               "expected a JSON object, found \"" + subject.options + "\"");
  }
  const Device wanted = subject.device.empty() ? Device() : Device::parse(subject.device);
  checks::Described described;
  try {
    described = checks::describe(subject);
  } catch (const checks::Failure&) {
    return;
  }
  const std::vector<std::string>& types = described.types;
  const bool is_known = std::find(types.begin(), types.end(), wanted.type) != types.end();
  if (!subject.device.empty() && !is_known) {
    throw CLI::ValidationError("--device",
                               fmt::format("expected a device of the manifest, {}, found \"{}\"",
                                           join(types, ", "), subject.device));
  }
  if (options.empty()) return;
  const nlohmann::json config = {{"providers",
                                  {{"search", {subject.manifest}},
                                   {"probe", "never"},
                                   {"options", {{described.name, options}}}}}};
  const Runtime checked({config.dump(), {}});
}

// The command line of a child process for the same subject.
std::vector<std::string> arguments_of(const checks::Subject& subject) {
  std::vector<std::string> words = {"provider", "test", subject.manifest};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--options", subject.options);
  add("--device", subject.device);
  add("--cases", subject.cases);
  add("--models", subject.models);
  add("--level", std::to_string(subject.level));
  add("--seed", std::to_string(subject.seed));
  for (const std::string& pattern : subject.only) add("--only", pattern);
  if (subject.is_isolated) words.emplace_back("--isolated");
  return words;
}

// Prints results. A message is printed in full only once: if a library cannot be opened, fifty
// checks fail with the same message.
class Printer {
 public:
  /// `is_whole`: also prints cases that passed and repeated messages.
  explicit Printer(bool is_whole) : is_whole_(is_whole) {}

  void print(const CheckResult& result) {
    const bool is_told = is_whole_ || result.level != 4;  // level 4 has thousands of cases
    if (!result.is_bad()) {
      if (is_told) print(result, result.message);
      return;
    }
    const auto [said, is_new] = said_.try_emplace(result.message + result.remedy, result.name);
    if (is_new) {
      print(result, result.message);
      print_line("          what to do: " + result.remedy);
    } else if (is_told) {
      print(result, "as " + said->second);
    }
  }

 private:
  static void print(const CheckResult& result, const std::string& message) {
    const Color color = result.is_bad()             ? Color::kBad
                        : result.status == "passed" ? Color::kGood
                                                    : Color::kQuiet;
    print_line(fmt::format("{:<9} {} {} [{}]{}{}", paint(result.status, color), result.level,
                           result.name, result.duty, message.empty() ? "" : ": ", message));
  }

  bool is_whole_;
  std::map<std::string, std::string> said_;  // the first check with a message, by message
};

// Without a report it creates an empty file, so that an error is found before the checks run.
void write_junit(const std::string& file, const checks::Report* report) {
  if (file.empty()) return;
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  if (report) stream << checks::to_junit(*report);
  if (!stream.flush()) {
    throw Error(Code::kUnavailable,
                file + ": the report cannot be written: " + std::generic_category().message(errno));
  }
}

Status test(const TestOptions& options) {
  if (options.child_fd >= 0) {
    checks::run_child(options.subject, options.child_from, options.child_fd);
    return kGood;
  }
  expect_known(options.subject);
  expect_checks(options.subject);
  write_junit(options.junit, nullptr);
  checks::WatchOptions watch;
  watch.program = std::filesystem::canonical("/proc/self/exe");
  watch.arguments = arguments_of(options.subject);
  watch.timeout_ms = static_cast<int>(options.timeout_s * 1000);
  Printer printer(options.verbose);
  watch.seen = [&](const CheckResult& result) {
    if (!options.json) printer.print(result);
    flush_output();  // checks take minutes; a reader of the pipe sees each result at once
  };
  checks::Report report = {options.subject.manifest, options.subject.level, {}};
  report.results = checks::watch_children(watch);
  write_junit(options.junit, &report);
  if (options.json) {
    print_json(checks::to_json(report));
  } else {
    const size_t passed = report.count("passed");
    const size_t skipped = report.count("skipped");
    print_line(fmt::format("{}: {} passed, {} failed, {} skipped; level {} of 5",
                           options.subject.manifest, passed,
                           report.results.size() - passed - skipped, skipped, report.reached()));
  }
  return report.is_good() ? kGood : kNo;
}

}  // namespace

void add_provider_test(CLI::App& provider, Action& chosen) {
  auto options = std::make_shared<TestOptions>();
  checks::Subject& subject = options->subject;
  CLI::App* command = provider.add_subcommand(
      "test",
      "Hold a provider to the rules of the boundary: load, memory, claims, numerics, faults");
  command->add_option("MANIFEST", subject.manifest, "The provider's manifest")
      ->required()
      ->type_name("FILE");
  command->add_option("--level", subject.level, "The last level to run")
      ->type_name("1..5")
      ->check(CLI::Range(1, 5))
      ->capture_default_str();
  command->add_option("--device", subject.device, "TYPE or TYPE:id; default: the first ready one")
      ->type_name("DEVICE");
  command->add_option("--options", subject.options, "The provider's options: a JSON object")
      ->type_name("JSON");
  command
      ->add_option("--cases", subject.cases,
                   "Folder of ONNX's node cases: of folders with a model.onnx and recorded values")
      ->type_name("DIR");
  command
      ->add_option("--models", subject.models,
                   "Folder of pieces of models with recorded values, as model_cases writes them")
      ->type_name("DIR");
  command->add_option("--seed", subject.seed, "Of random elements")->type_name("N");
  command->add_flag("--isolated", subject.is_isolated,
                    "Compute level 4 with the provider in a process of its own");
  command->add_option("--only", subject.only, "Names of checks, with * and ?")->type_name("NAME");
  command->add_option("--timeout", options->timeout_s, "Seconds that one check may take")
      ->type_name("S")
      ->check(number_between(0.1, 86400))
      ->capture_default_str();
  command->add_option("--junit", options->junit, "Write a JUnit report")->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--all", options->verbose, "Print every check of level 4, too");
  command->add_option("--child-fd", options->child_fd)->group("");
  command->add_option("--child-from", options->child_from)->group("");
  command->callback([options, &chosen] { chosen = [options] { return test(*options); }; });
}

}  // namespace gantry::cli
