// SPDX-License-Identifier: Apache-2.0
// gantry check: reports whether a model can run on a device, with a reason for each node. Compiles
// nothing. Status 1: it cannot.
#include <algorithm>
#include <fmt/core.h>

#include "command.h"
#include "options.h"
#include "output.h"

namespace gantry::cli {
namespace {

struct CheckOptions : ModelOptions {
  bool nodes = false;
};

void print(const Placement& placement, const CheckOptions& options) {
  const auto is_refused = [](const NodePlacement& node) { return node.device.empty(); };
  const auto refused = std::count_if(placement.nodes.begin(), placement.nodes.end(), is_refused);
  const std::string device = device_text(options);
  const std::string whom = device == "configured" ? "the configured devices" : "device " + device;
  if (placement.compatible) {
    print_line(fmt::format("{} with {}: every node runs ({})", paint("compatible", Color::kGood),
                           whom, count_text(placement)));
  } else {
    print_line(fmt::format("{} with {}: {} of {} nodes do not run",
                           paint("not compatible", Color::kBad), whom, refused,
                           placement.nodes.size()));
  }
  print_warnings(placement);
  if (refused == 0 && !options.nodes) return;
  Table table({{"OPERATOR"}, {"DEVICE"}, {"NODE"}, {"REASON"}});
  for (const NodePlacement& node : placement.nodes) {
    if (options.nodes || is_refused(node)) {
      const std::string domain = node.domain.empty() ? "" : node.domain + "::";
      table.add(
          {domain + node.op_type, is_refused(node) ? "none" : node.device, node.node, node.reason});
    }
  }
  table.print();
}

Status check_model(const CheckOptions& options) {
  const auto runtime = make_runtime(options);
  const Placement placement = check(*runtime, options.model, session_options(options));
  if (options.json) {
    print_json({{"model", options.model},
                {"device", device_text(options)},
                {"compatible", placement.compatible},
                {"counts", counts_to_json(placement)},
                {"nodes", to_json(placement.nodes)},
                {"warnings", placement.warnings}});
  } else {
    print(placement, options);
  }
  return placement.compatible ? kGood : kNo;
}

}  // namespace

void add_check(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "Compatible or not, and a reason per node; builds nothing");
  add_model_options(*command, *options);
  command->add_flag("--nodes", options->nodes, "List every node, not only those that are refused");
  command->callback([options, &chosen] { chosen = [options] { return check_model(*options); }; });
}

}  // namespace gantry::cli
