// SPDX-License-Identifier: Apache-2.0
// gantry explain: which node runs where and why, copies between memory spaces, memory. Status 1: a
// node runs nowhere.
#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>

#include "command.h"
#include "inputs.h"
#include "options.h"
#include "output.h"

namespace gantry::cli {
namespace {

struct ExplainOptions : ModelOptions {
  bool run = false;
  InputOptions inputs;
};

/// What there is to tell. Memory is known only for a model that can be built.
struct Explanation {
  Placement placement;
  std::optional<MemoryUse> memory;
};

Explanation explain_model(Runtime& runtime, const ExplainOptions& options) {
  const SessionOptions session_with = session_options(options);
  Placement checked = check(runtime, options.model, session_with);
  if (!checked.compatible) return {std::move(checked), std::nullopt};
  Session session(runtime, options.model, session_with);
  if (options.run) session.run_values(make_inputs(session.inputs(), options.inputs));
  return {session.placement(), session.memory()};
}

void print_nodes(const Placement& placement) {
  Table table({{"OPERATOR"}, {"DEVICE"}, {"PROVIDER"}, {"KERNEL"}, {"REASON"}, {"NODE"}});
  for (const NodePlacement& node : placement.nodes) {
    const std::string domain = node.domain.empty() ? "" : node.domain + "::";
    table.add({domain + node.op_type, node.device.empty() ? "none" : node.device, node.provider,
               node.kernel, node.reason, node.node});
  }
  if (!placement.nodes.empty()) table.print();
}

void print_summary(const Explanation& explanation, const ExplainOptions& options) {
  std::map<std::string, size_t> places;
  for (const NodePlacement& node : explanation.placement.nodes) {
    ++places[node.device.empty()
                 ? "nowhere"
                 : "on " + node.device + " by " + (node.provider.empty() ? "core" : node.provider)];
  }
  print_line(fmt::format("nodes     {} in all", explanation.placement.nodes.size()));
  for (const auto& [place, nodes] : places)
    print_line(fmt::format("          {} {}", nodes, place));
  print_warnings(explanation.placement);
  if (!explanation.memory) return;
  print_line(
      fmt::format("copies    {} between memory spaces per run", explanation.placement.copies));
  print_line("weights   " + format_bytes(explanation.memory->weights));
  if (options.run) {
    print_line("arena     " + format_bytes(explanation.memory->arena) + " planned");
    print_line("pool      " + format_bytes(explanation.memory->pool) + " beside the plan");
  } else {
    print_line("arena     planned by the first run; --run makes one");
  }
}

Status explain(const ExplainOptions& options) {
  const auto runtime = make_runtime(options);
  const Explanation explanation = explain_model(*runtime, options);
  if (options.json) {
    Json json{{"model", options.model},
              {"device", device_text(options)},
              {"compatible", explanation.placement.compatible},
              {"nodes", to_json(explanation.placement.nodes)},
              {"warnings", explanation.placement.warnings}};
    if (explanation.memory) {
      json["copies"] = explanation.placement.copies;
      json["memory"] = to_json(*explanation.memory);
    }
    print_json(json);
  } else {
    print_nodes(explanation.placement);
    print_line("");
    print_summary(explanation, options);
  }
  return explanation.placement.compatible ? kGood : kNo;
}

}  // namespace

void add_explain(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command =
      app.add_subcommand("explain", "Which node runs where and why, copies, memory");
  add_model_options(*command, *options);
  command->add_flag("--run", options->run,
                    "Run once with the inputs below, so that the plan's memory is known");
  add_input_options(*command, options->inputs);
  command->callback([options, &chosen] { chosen = [options] { return explain(*options); }; });
}

}  // namespace gantry::cli
