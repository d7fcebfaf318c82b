// SPDX-License-Identifier: Apache-2.0
// gantry config: validates a configuration, shows the effective one with its sources, and prints
// the JSON Schema. Opens no provider. Status 1 of `check`: a document is invalid.
#include <gantry/config.h>

#include <algorithm>

#include "command.h"
#include "options.h"
#include "output.h"

namespace gantry::cli {
namespace {

struct ConfigCheckOptions {
  std::vector<std::string> files;
  bool json = false;
  bool strict = false;
};

struct SchemaOptions : CommonOptions {
  std::vector<std::string> providers;
  bool all_providers = false;
};

bool is_warning(const ConfigFinding& finding) { return finding.code == Code::kOk; }

Json finding_to_json(const ConfigFinding& finding) {
  return {{"severity", is_warning(finding) ? "warning" : "error"},
          {"code", to_string(finding.code)},
          {"line", finding.line},
          {"column", finding.column},
          {"pointer", finding.pointer},
          {"message", finding.message},
          {"suggestion", finding.suggestion}};
}

Status check(const ConfigCheckOptions& options) {
  bool is_good = true;
  Json files = Json::array();
  for (const std::string& file : options.files) {
    const std::vector<ConfigFinding> findings = check_config(read_config(file), file);
    const bool is_valid = std::all_of(findings.begin(), findings.end(), [&](const auto& finding) {
      return is_warning(finding) && !options.strict;
    });
    is_good = is_good && is_valid;
    Json rows = Json::array();
    for (const ConfigFinding& finding : findings) {
      rows.push_back(finding_to_json(finding));
      if (options.json) continue;
      const char* severity = is_warning(finding) ? "warning: " : "error: ";
      print_line(severity + to_string(finding) + finding.excerpt);
    }
    files.push_back({{"file", file}, {"valid", is_valid}, {"findings", rows}});
    if (!options.json && findings.empty()) print_line(file + ": good");
  }
  if (options.json) print_json({{"valid", is_good}, {"files", files}});
  return is_good ? kGood : kNo;
}

Status show(const CommonOptions& options) {
  const auto runtime = make_runtime(options);
  const std::vector<ConfigValue> values = effective_config(*runtime);
  if (options.json) {
    Json rows = Json::array();
    for (const ConfigValue& value : values) {
      rows.push_back({{"pointer", value.pointer},
                      {"value", Json::parse(value.value)},
                      {"origin", value.origin}});
    }
    print_json({{"values", rows}});
    return kGood;
  }
  Table table({{"MEMBER"}, {"VALUE"}, {"ORIGIN"}});
  for (const ConfigValue& value : values)
    table.add({value.pointer, value.value == "null" ? "not set" : value.value, value.origin});
  table.print();
  return kGood;
}

Status schema(const SchemaOptions& options) {
  if (options.providers.empty() && !options.all_providers) {
    print_json(Json::parse(config_schema()));
    return kGood;
  }
  const auto runtime = make_runtime(options);
  const std::vector<std::string> none;
  print_json(
      Json::parse(config_schema(*runtime, options.all_providers ? none : options.providers)));
  return kGood;
}

void add_check_config(CLI::App& config, Action& chosen) {
  auto options = std::make_shared<ConfigCheckOptions>();
  CLI::App* command = config.add_subcommand(
      "check", "Everything that is wrong with configuration files: line, column, what to do");
  command->add_option("FILE", options->files, "Configuration files")->required()->type_name("");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--strict", options->strict, "Warnings count as errors");
  command->callback([options, &chosen] { chosen = [options] { return check(*options); }; });
}

void add_show(CLI::App& config, Action& chosen) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = config.add_subcommand(
      "show", "The effective configuration: every value and where it comes from");
  add_common_options(*command, *options);
  command->callback([options, &chosen] { chosen = [options] { return show(*options); }; });
}

void add_schema(CLI::App& config, Action& chosen) {
  auto options = std::make_shared<SchemaOptions>();
  CLI::App* command =
      config.add_subcommand("schema", "The JSON Schema of the configuration, for editors");
  command->add_option("--provider", options->providers, "With the options of this provider")
      ->type_name("NAME");
  command->add_flag("--all-providers", options->all_providers,
                    "With the options of every provider that is found");
  add_common_options(*command, *options);
  command->callback([options, &chosen] { chosen = [options] { return schema(*options); }; });
}

}  // namespace

void add_config(CLI::App& app, Action& chosen) {
  CLI::App* config =
      app.add_subcommand("config", "Check a configuration, show what it comes to, its JSON Schema");
  config->require_subcommand(1);
  add_check_config(*config, chosen);
  add_show(*config, chosen);
  add_schema(*config, chosen);
}

}  // namespace gantry::cli
