// SPDX-License-Identifier: Apache-2.0
// Runs one pass on a model in text form and compares the graph's text before it and after it.
#pragma once

#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "model_text.h"
#include "passes/pipeline.h"

namespace gantry::test {

/// Text of the graph without its first and last line, which name inputs and outputs and stay.
inline std::string inner_text(const Graph& graph) {
  const std::string text = to_text(graph);
  const size_t start = text.find('\n') + 1;
  return text.substr(start, text.rfind("}\n") - start);
}

/// Evaluates Add and Neg of float tensors of one shape; nothing if there is another operator.
inline std::vector<ValueRef> evaluate_sums(const Graph& graph) {
  std::unordered_map<const GraphValue*, ValueRef> values;
  for (const auto& value : graph.values()) {
    if (value->constant) values[value.get()] = value->constant;
  }
  for (const auto& node : graph.nodes()) {
    if (node->op_type != "Add" && node->op_type != "Neg") return {};
    const ValueRef result = copy_tensor(*values.at(node->inputs[0]));
    auto* target = static_cast<float*>(result->view.data);
    for (int64_t i = 0; i < element_count(result->shape); ++i) {
      if (node->op_type == "Neg") {
        target[i] = -target[i];
      } else {
        target[i] += static_cast<const float*>(values.at(node->inputs[1])->view.data)[i];
      }
    }
    values[node->outputs[0]] = result;
  }
  std::vector<ValueRef> outputs;
  for (const GraphValue* output : graph.outputs()) outputs.push_back(values.at(output));
  return outputs;
}

inline PassContext summing_context() {
  PassContext context;
  context.evaluate = evaluate_sums;
  context.is_nondeterministic = [](const Node& node) { return is_nondeterministic(node); };
  return context;
}

/// Runs the pass of that name alone.
inline bool run_pass(const std::string& name, Graph& graph,
                     const PassContext& context = summing_context()) {
  for (const Pass& pass : passes()) {
    if (name != pass.name) continue;
    const bool changed = pass.run(graph, context);
    verify(graph);
    return changed;
  }
  throw std::out_of_range("no pass " + name);
}

/// Expects that the pass makes `after` of the model's graph. Equal texts: that it changes nothing.
inline void expect_pass(const std::string& name, const std::string& model,
                        const std::string& after) {
  const auto graph = graph_of(model);
  const bool is_equal = inner_text(*graph) == after;
  EXPECT_EQ(run_pass(name, *graph), !is_equal);
  EXPECT_EQ(inner_text(*graph), after);
}

}  // namespace gantry::test
