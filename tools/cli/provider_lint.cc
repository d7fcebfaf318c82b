// SPDX-License-Identifier: Apache-2.0
// gantry provider lint: finds mistakes in a provider without opening it. Status 1: a finding that
// the manifest does not waive with a reason.
#include <gantry/provider_lint.h>

#include <algorithm>
#include <fmt/core.h>

#include "command_provider.h"
#include "output.h"

namespace gantry::cli {
namespace {

struct LintCommandOptions {
  std::string manifest;
  LintOptions lint;
  bool json = false;
};

Json lint_finding_to_json(const LintFinding& finding) {
  return {{"rule", finding.rule.name},     {"file", finding.file},
          {"what", finding.what},          {"reason", finding.rule.reason},
          {"remedy", finding.rule.remedy}, {"waiver", finding.waiver}};
}

// "FILE: what is wrong", where the sentence does not name the file itself.
std::string sentence_of(const LintFinding& finding) {
  const bool names_file = finding.what.rfind(finding.file + ":", 0) == 0;
  return names_file ? finding.what : finding.file + ": " + finding.what;
}

void print(const LintFinding& finding) {
  if (!finding.waiver.empty()) {
    print_line(fmt::format("{}: {}\n  allowed by the manifest: {}", finding.rule.name,
                           sentence_of(finding), finding.waiver));
    return;
  }
  print_line(fmt::format("{}: {}\n  why it matters: {}\n  what to do: {}",
                         paint(finding.rule.name, Color::kBad), sentence_of(finding),
                         finding.rule.reason, finding.rule.remedy));
}

Status lint(const LintCommandOptions& options) {
  const LintReport report = lint_provider(options.manifest, options.lint);
  if (options.json) {
    Json rules = Json::array();
    for (const LintRule& rule : lint_rules()) rules.push_back(rule.name);
    Json findings = Json::array();
    for (const LintFinding& finding : report.findings)
      findings.push_back(lint_finding_to_json(finding));
    print_json({{"manifest", options.manifest},
                {"good", report.is_good()},
                {"oldest_libc", options.lint.oldest_libc},
                {"files", report.files},
                {"rules", rules},
                {"findings", findings}});
  } else {
    for (const LintFinding& finding : report.findings) print(finding);
    const auto count =
        std::count_if(report.findings.begin(), report.findings.end(),
                      [](const LintFinding& finding) { return finding.waiver.empty(); });
    print_line(fmt::format("{}: {} finding{}, {} rules, {} librar{}", options.manifest, count,
                           count == 1 ? "" : "s", lint_rules().size(), report.files.size(),
                           report.files.size() == 1 ? "y" : "ies"));
  }
  return report.is_good() ? kGood : kNo;
}

}  // namespace

void add_provider_lint(CLI::App& provider, Action& chosen) {
  auto options = std::make_shared<LintCommandOptions>();
  CLI::App* command = provider.add_subcommand(
      "lint", "What is wrong with a manifest and its library, why it matters, how to mend it");
  command->add_option("MANIFEST", options->manifest, "The provider's manifest")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--oldest-libc", options->lint.oldest_libc,
                   "Oldest C library that it is to run with")
      ->type_name("VERSION")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &chosen] { chosen = [options] { return lint(*options); }; });
}

}  // namespace gantry::cli
