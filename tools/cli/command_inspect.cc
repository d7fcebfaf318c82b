// SPDX-License-Identifier: Apache-2.0
// gantry inspect: describes the contents of a model. Opens no provider.
#include <gantry/model.h>

#include <fmt/core.h>

#include "command.h"
#include "options.h"
#include "output.h"

namespace gantry::cli {
namespace {

struct InspectOptions {
  std::string model;
  bool json = false;
  bool graph = false;
  bool weights = false;
};

Json infos_to_json(const std::vector<ValueInfo>& infos) {
  Json json = Json::array();
  for (const ValueInfo& info : infos) json.push_back(to_json(info));
  return json;
}

Json summary_to_json(const ModelSummary& summary) {
  Json operators = Json::array();
  uint64_t nodes = 0;
  for (const OperatorCount& row : summary.operators) {
    nodes += row.count;
    operators.push_back({{"domain", row.domain},
                         {"op_type", row.op_type},
                         {"since_version", row.since_version},
                         {"count", row.count}});
  }
  Json weights = Json::array();
  for (const WeightInfo& weight : summary.weights) {
    weights.push_back({{"name", weight.name},
                       {"dtype", to_string(weight.dtype)},
                       {"shape", weight.shape},
                       {"size_bytes", weight.size_bytes}});
  }
  return {{"name", summary.name},
          {"producer", summary.producer},
          {"ir_version", summary.ir_version},
          {"opsets", summary.opsets},
          {"metadata", summary.metadata},
          {"inputs", infos_to_json(summary.inputs)},
          {"outputs", infos_to_json(summary.outputs)},
          {"nodes", nodes},
          {"operators", operators},
          {"weight_bytes", summary.weight_bytes},
          {"weights", weights},
          {"graph", summary.graph_text}};
}

// A metadata value may be a list of 20,000 characters; a line shows its beginning.
std::string shortened(std::string text) {
  constexpr size_t kShown = 60;
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  if (text.size() <= kShown) return text;
  size_t end = kShown;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // not inside a character
  return fmt::format("{}... ({} bytes)", text.substr(0, end), text.size());
}

void print_interface(const char* title, const std::vector<ValueInfo>& infos) {
  for (const ValueInfo& info : infos)
    print_line(fmt::format("{:<10}{}: {}", title, info.name, describe(info)));
}

void print_operators(const ModelSummary& summary) {
  uint64_t nodes = 0;
  Table table({{"COUNT", Table::Align::kRight}, {"OPERATOR"}, {"SINCE", Table::Align::kRight}});
  for (const OperatorCount& row : summary.operators) {
    nodes += row.count;
    const std::string domain = row.domain.empty() ? "" : row.domain + "::";
    table.add({std::to_string(row.count), domain + row.op_type, std::to_string(row.since_version)});
  }
  print_line(fmt::format("nodes     {} in the file", nodes));
  print_line("");
  if (nodes != 0) table.print();
}

void print_weights(const ModelSummary& summary) {
  print_line("");
  Table table({{"WEIGHT"}, {"TYPE"}, {"SIZE", Table::Align::kRight}});
  for (const WeightInfo& weight : summary.weights) {
    table.add({weight.name, describe(weight.dtype, weight.shape), format_bytes(weight.size_bytes)});
  }
  table.print();
}

void print(const ModelSummary& summary, const InspectOptions& options) {
  std::vector<std::string> opsets;
  for (const auto& [domain, version] : summary.opsets) {
    opsets.push_back(fmt::format("{} {}", domain.empty() ? "ai.onnx" : domain, version));
  }
  print_line("graph     " + summary.name);
  print_line("producer  " + (summary.producer.empty() ? "unknown" : summary.producer));
  print_line(fmt::format("format    IR version {}, operator sets {}", summary.ir_version,
                         join(opsets, ", ")));
  for (const auto& [key, value] : summary.metadata)
    print_line("metadata  " + key + ": " + shortened(value));
  print_interface("input", summary.inputs);
  print_interface("output", summary.outputs);
  print_line(fmt::format("weights   {} in {} tensors", format_bytes(summary.weight_bytes),
                         summary.weights.size()));
  print_operators(summary);
  if (options.weights) print_weights(summary);
  if (options.graph) print_line("\n" + summary.graph_text);
}

Status inspect_model(const InspectOptions& options) {
  const ModelSummary summary = inspect(options.model);
  if (options.json) {
    print_json(summary_to_json(summary));
  } else {
    print(summary, options);
  }
  return kGood;
}

}  // namespace

void add_inspect(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand("inspect", "Graph, operators, shapes, weights of a model");
  command->add_option("MODEL", options->model, "The ONNX model")->required()->type_name("FILE");
  command->add_flag("--json", options->json,
                    "Print JSON; it holds everything, the graph and weights too");
  command->add_flag("--graph", options->graph, "Print the graph, a line for each node");
  command->add_flag("--weights", options->weights, "List the weights");
  command->callback([options, &chosen] { chosen = [options] { return inspect_model(*options); }; });
}

}  // namespace gantry::cli
