// SPDX-License-Identifier: Apache-2.0
// Level 3, second part: graphs that no valid model has. Any result but a crash or a hang is
// accepted, errors included.
#include <cstdint>

#include "claims.h"
#include "levels.h"
#include "open_provider.h"
#include "operators.h"
#include "progress.h"

namespace gantry::checks {
namespace {

constexpr uint32_t kMany = 70;  // more slots than a mask of 64 bits has

// Adds an operator to a graph as no model would use it.
using Twist = void (*)(TestGraph& graph, const OnnxOperator& row);

void add(TestGraph& graph, const OnnxOperator& row, const std::vector<uint32_t>& inputs,
         uint32_t outputs = 1, uint32_t dtype = GANTRY_FLOAT,
         const TestAttributes& attributes = {}) {
  graph.add_node(row.op_type, row.domain, row.since_version, inputs, outputs, dtype, attributes);
}

std::vector<uint32_t> inputs_of(TestGraph& graph, uint32_t count, uint32_t dtype,
                                const std::vector<int64_t>& shape, int32_t rank) {
  std::vector<uint32_t> inputs;
  for (uint32_t i = 0; i < count; ++i) inputs.push_back(graph.add_input(dtype, shape, rank));
  return inputs;
}

void without_inputs(TestGraph& graph, const OnnxOperator& row) { add(graph, row, {}); }
void without_outputs(TestGraph& graph, const OnnxOperator& row) {
  add(graph, row, inputs_of(graph, 3, GANTRY_FLOAT, {2, 3}, 2), 0);
}
void absent_inputs(TestGraph& graph, const OnnxOperator& row) {
  add(graph, row, std::vector<uint32_t>(6, GANTRY_NONE));
}
void many_slots(TestGraph& graph, const OnnxOperator& row) {
  add(graph, row, inputs_of(graph, kMany, GANTRY_FLOAT, {2, 3}, 2), kMany);
}
void unknown_shapes(TestGraph& graph, const OnnxOperator& row) {
  add(graph, row, inputs_of(graph, 4, GANTRY_FLOAT, {}, -1));
}
void scalars(TestGraph& graph, const OnnxOperator& row) {
  add(graph, row, inputs_of(graph, 4, GANTRY_FLOAT, {}, 0));
}
void unknown_types(TestGraph& graph, const OnnxOperator& row) {
  add(graph, row, inputs_of(graph, 4, GANTRY_UNDEFINED, {2, 3}, 2), 1, GANTRY_UNDEFINED);
  add(graph, row, inputs_of(graph, 4, 4711, {2, 3}, 2), 1, UINT32_MAX);
}
void huge_extents(TestGraph& graph, const OnnxOperator& row) {
  const std::vector<int64_t> shape(12, INT64_MAX);
  add(graph, row, inputs_of(graph, 4, GANTRY_FLOAT, shape, 12));
}
void empty_extents(TestGraph& graph, const OnnxOperator& row) {
  add(graph, row, inputs_of(graph, 4, GANTRY_FLOAT, {0, 0, 0, 0}, 4));
}
void wrong_constants(TestGraph& graph, const OnnxOperator& row) {
  // Constants for sizes, axes or scales that are empty, of another type or out of range.
  for (const uint32_t dtype : {GANTRY_FLOAT, GANTRY_INT64, GANTRY_STRING, GANTRY_UINT4}) {
    std::vector<uint32_t> inputs = inputs_of(graph, 1, GANTRY_FLOAT, {2, 3, 4, 5}, 4);
    for (uint32_t i = 0; i < 5; ++i) inputs.push_back(graph.add_constant(make_value(dtype, {0})));
    add(graph, row, inputs);
    inputs.resize(1);
    const auto extreme = make_value(dtype, {9});
    if (dtype == GANTRY_INT64) {
      auto* elements = static_cast<int64_t*>(extreme->memory.get());
      for (int i = 0; i < 9; ++i) elements[i] = i % 2 ? INT64_MIN : INT64_MAX;
    }
    for (uint32_t i = 0; i < 5; ++i) inputs.push_back(graph.add_constant(extreme));
    add(graph, row, inputs);
  }
}
void wrong_attributes(TestGraph& graph, const OnnxOperator& row) {
  // Attributes that operators read, with values of another type.
  const std::vector<const char*> names = {"axis",         "axes",        "perm",
                                          "kernel_shape", "strides",     "pads",
                                          "dilations",    "group",       "to",
                                          "mode",         "value",       "alpha",
                                          "epsilon",      "equation",    "direction",
                                          "auto_pad",     "num_heads",   "hidden_size",
                                          "activations",  "nodes_modes", "detect_negative",
                                          "blocksize"};
  TestAttributes strings;
  TestAttributes lists;
  TestAttributes extremes;
  for (const char* name : names) {
    strings.strings[name] = "\xff\xfe no sense";
    lists.int_lists[name] = {};
    extremes.ints[name] = INT64_MIN;
  }
  for (const TestAttributes& attributes : {strings, lists, extremes}) {
    add(graph, row, inputs_of(graph, 3, GANTRY_FLOAT, {2, 3, 4, 5}, 4), 1, GANTRY_FLOAT,
        attributes);
  }
}
void other_versions(TestGraph& graph, const OnnxOperator& row) {
  const std::vector<uint32_t> inputs = inputs_of(graph, 2, GANTRY_FLOAT, {2, 3}, 2);
  for (const int32_t version : {INT32_MIN, -1, 0, 1, 1000, INT32_MAX})
    graph.add_node(row.op_type, row.domain, version, inputs, 1, GANTRY_FLOAT);
}

void survive(const Subject& subject, const char* how, Twist twist) {
  const OpenProvider provider(subject);
  const uint32_t device = provider.device().index;
  for (const OnnxOperator& row : onnx_operators()) {
    note_progress(std::string("claim of ") + row.op_type + ", " + how);
    TestGraph graph;
    twist(graph, row);
    (void)ask(provider, subject, device, graph.view());
  }
}

void survive_strange_graphs(const Subject& subject) {
  const OpenProvider provider(subject);
  const uint32_t device = provider.device().index;
  note_progress("claim of an empty graph");
  TestGraph empty;
  (void)ask(provider, subject, device, empty.view());
  note_progress("claim of names that are no UTF-8, and of long ones");
  TestGraph names;
  const uint32_t x = names.add_input(GANTRY_FLOAT, {4});
  for (const std::string& name :
       {std::string("\xff\xfe\0\x80", 4), std::string(100000, 'x'), std::string()})
    names.set_name(names.add_node(name, name, 1, {x}, 1, GANTRY_FLOAT), name);
  (void)ask(provider, subject, device, names.view());
  note_progress("claim of 20000 nodes in a row");
  TestGraph chain;
  uint32_t last = chain.add_input(GANTRY_FLOAT, {4});
  for (int i = 0; i < 20000; ++i)
    last = chain.outputs_of(chain.add_node("Relu", "", 14, {last}, 1, GANTRY_FLOAT)).front();
  (void)ask(provider, subject, device, chain.view());
}

}  // namespace

void add_hostile_checks(Checks& checks, const Subject& subject) {
  const auto add_twist = [&](const std::string& name, const char* how, Twist twist) {
    checks.push_back(
        {3, "hostile." + name, "P15", [=, &subject] { survive(subject, how, twist); }});
  };
  add_twist("without-inputs", "without inputs", without_inputs);
  add_twist("without-outputs", "without outputs", without_outputs);
  add_twist("absent-inputs", "all inputs absent", absent_inputs);
  add_twist("many-slots", "with 70 inputs and outputs", many_slots);
  add_twist("unknown-shapes", "inputs of unknown rank", unknown_shapes);
  add_twist("scalars", "inputs without axes", scalars);
  add_twist("unknown-types", "element types that are unknown", unknown_types);
  add_twist("huge-extents", "extents of 2^63 - 1", huge_extents);
  add_twist("empty-extents", "extents of 0", empty_extents);
  add_twist("wrong-constants", "constants of wrong types and values", wrong_constants);
  add_twist("wrong-attributes", "attributes of wrong types and values", wrong_attributes);
  add_twist("other-versions", "versions that do not exist", other_versions);
  checks.push_back(
      {3, "hostile.strange-graphs", "P15", [&subject] { survive_strange_graphs(subject); }});
}

}  // namespace gantry::checks
