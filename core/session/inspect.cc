// SPDX-License-Identifier: Apache-2.0
#include <gantry/model.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "graph/graph.h"
#include "onnx/model.h"
#include "session/model_metadata.h"

namespace gantry {
namespace {

using OperatorKey = std::tuple<std::string, std::string, int>;  // domain, op_type, since_version

// Adds the operators and constants of the graph and its bodies.
void count(const Graph& graph, ModelSummary& summary, std::map<OperatorKey, uint64_t>& operators) {
  for (const auto& value : graph.values()) {
    if (!value->constant && !value->initial) continue;
    const gantry_value& constant = value->constant ? *value->constant : *value->initial;
    summary.weights.push_back(
        {value->name, constant.dtype, constant.shape, constant.view.size_bytes});
    summary.weight_bytes += constant.view.size_bytes;
  }
  for (const auto& node : graph.nodes()) {
    ++operators[{node->domain, node->op_type, node->since_version}];
    for (const Graph* body : node->bodies()) count(*body, summary, operators);
  }
}

ModelSummary summarise(const ModelSource& source) {
  const OnnxModel model(source);
  const std::unique_ptr<Graph> graph = model.to_graph();
  ModelSummary summary;
  summary.name = graph->name;
  summary.description = model.description();
  summary.producer = model.producer();
  summary.ir_version = model.ir_version();
  summary.opsets = model.opsets();
  summary.metadata = model.metadata();
  summary.inputs = input_infos(*graph);
  summary.outputs = output_infos(*graph);
  std::map<OperatorKey, uint64_t> operators;
  count(*graph, summary, operators);
  for (const auto& [key, times] : operators) {
    summary.operators.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), times});
  }
  std::stable_sort(summary.operators.begin(), summary.operators.end(),
                   [](const OperatorCount& left, const OperatorCount& right) {
                     return left.count > right.count;
                   });
  summary.graph_text = to_text(*graph);
  return summary;
}

}  // namespace

ModelSummary inspect(const ModelSource& model) {
  try {
    return summarise(model);
  } catch (const Error& error) {
    throw error.message().starts_with(subject_of(model)) ? error : error.in(subject_of(model));
  }
}

}  // namespace gantry
