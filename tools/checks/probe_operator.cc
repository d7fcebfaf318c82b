// SPDX-License-Identifier: Apache-2.0
#include "probe_operator.h"

namespace gantry::checks {

const std::vector<ProbeOperator>& probe_operators() {
  static const auto* const operators =
      new std::vector<ProbeOperator>{{"Relu", 14, {{64, 33}}},
                                     {"Add", 14, {{64, 33}, {64, 33}}},
                                     {"Mul", 14, {{64, 33}, {64, 33}}},
                                     {"MatMul", 13, {{16, 24}, {24, 8}}},
                                     {"Sigmoid", 13, {{64, 33}}},
                                     {"Tanh", 13, {{64, 33}}},
                                     {"Identity", 23, {{64, 33}}},
                                     {"Softmax", 13, {{64, 33}}},
                                     {"MatMul", 13, {{16, 64}, {64, 48}}, true},
                                     {"Conv", 22, {{1, 16, 12, 12}, {32, 16, 3, 3}}, true}};
  return *operators;
}

std::vector<std::shared_ptr<HostValue>> probe_inputs(const ProbeOperator& probe,
                                                     bool has_other_weights) {
  std::vector<std::shared_ptr<HostValue>> inputs;
  for (const std::vector<int64_t>& shape : probe.inputs) {
    const bool is_other = has_other_weights && probe.has_weights && !inputs.empty();
    inputs.push_back(make_value(GANTRY_FLOAT, shape));
    auto* elements = static_cast<float*>(inputs.back()->memory.get());
    const uint64_t count = inputs.back()->tensor.size_bytes / sizeof(float);
    for (uint64_t i = 0; i < count; ++i) {
      const float element = static_cast<float>((i * 37 + inputs.size() * 11) % 65) / 16.0F - 2.0F;
      elements[i] = is_other ? 1.0F - element : element;
    }
  }
  return inputs;
}

TestGraph probe_graph(const ProbeOperator& probe,
                      const std::vector<std::shared_ptr<HostValue>>& inputs) {
  TestGraph graph;
  std::vector<uint32_t> values;
  for (const std::shared_ptr<HostValue>& input : inputs) {
    const bool is_weight = probe.has_weights && !values.empty();
    values.push_back(is_weight ? graph.add_constant(input)
                               : graph.add_input(GANTRY_FLOAT, input->shape));
  }
  graph.add_node(probe.op_type, "", probe.since_version, values, 1, GANTRY_FLOAT);
  return graph;
}

}  // namespace gantry::checks
