// SPDX-License-Identifier: Apache-2.0
#include "onnx/exporter.h"

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>
#include <string>
#include <unordered_set>
#include <vector>

#include "expect_error.h"
#include "model_text.h"

namespace gantry {
namespace {

using ONNX_NAMESPACE::GraphProto;
using ONNX_NAMESPACE::ModelProto;
using ONNX_NAMESPACE::TensorProto;

// The fragment of nodes [first, first + count) of a graph, its slots by the rule of provider.h.
Fragment cut(const Graph& graph, size_t first, size_t count) {
  Fragment fragment;
  std::unordered_set<const Node*> set;
  for (size_t i = first; i < first + count; ++i) {
    fragment.nodes.push_back(graph.nodes()[i].get());
    set.insert(graph.nodes()[i].get());
  }
  for (const Node* node : fragment.nodes) {
    for (const auto* list : {&node->inputs, &node->captures}) {
      for (const GraphValue* value : *list) {
        if (!value || !set.contains(value->producer)) fragment.inputs.push_back(value);
      }
    }
    for (const GraphValue* value : node->outputs) {
      bool is_outside = value->is_output() || value->users.empty();
      for (const Node* user : value->users) is_outside = is_outside || !set.contains(user);
      if (is_outside) fragment.outputs.push_back(value);
    }
  }
  return fragment;
}

Fragment all_of(const Graph& graph) { return cut(graph, 0, graph.nodes().size()); }

ModelProto parse(const ExportedModel& exported) {
  ModelProto model;
  EXPECT_TRUE(model.ParseFromString(exported.bytes));
  return model;
}

// The same with the weights inside, as the checker reads it.
ModelProto whole(const ExportedModel& exported) {
  ModelProto model = parse(exported);
  for (TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.data_location() != TensorProto::EXTERNAL) continue;
    const size_t number = std::stoul(tensor.external_data(0).value().substr(7));
    const gantry_tensor& weight = exported.weights.at(number)->view;
    tensor.set_raw_data(weight.data, weight.size_bytes);
    tensor.clear_data_location();
    tensor.clear_external_data();
  }
  return model;
}

void check(const ExportedModel& exported) {
  EXPECT_NO_THROW(ONNX_NAMESPACE::checker::check_model(whole(exported)));
}

std::vector<std::string> names(
    const google::protobuf::RepeatedPtrField<ONNX_NAMESPACE::ValueInfoProto>& infos) {
  std::vector<std::string> names;
  for (const auto& info : infos) names.push_back(info.name());
  return names;
}

using Names = std::vector<std::string>;

TEST(Exporter, SlotsAreInputsAndOutputsByTheNamesOfTheirValues) {
  test::TestModel model(test::model_bytes(R"(
    g (float[N, 4] x, float[N, 4] z) => (float[N, 4] y) {
      a = Relu(x)
      b = Add(a, z)
      c = Mul(b, a)
      d = Sub(c, b)
      y = Neg(d)
    })"));
  const auto graph = model->to_graph();
  const ExportedModel exported = export_fragment(cut(*graph, 1, 3), nullptr);
  check(exported);
  const ModelProto proto = parse(exported);
  EXPECT_EQ(names(proto.graph().input()), (Names{"a", "z"}));  // a has two slots
  EXPECT_EQ(names(proto.graph().output()), Names{"d"});
  const auto& shape = proto.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "N");
  EXPECT_EQ(shape.dim(1).dim_value(), 4);
  EXPECT_EQ(names(proto.graph().value_info()), (Names{"b", "c"}));
}

TEST(Exporter, LargeConstantsAreReferredToAndSmallOnesWritten) {
  ModelProto source = test::parse_model(R"(
    g (float[300] x) => (float[300] y) <float[2] small = {1.0, 2.0}> {
      s = ReduceSum(small)
      a = Mul(x, w)
      b = Add(a, w)
      y = Mul(b, s)
    })");
  TensorProto& weights = *source.mutable_graph()->add_initializer();
  weights.set_name("w");
  weights.set_data_type(TensorProto::FLOAT);
  weights.add_dims(300);
  weights.set_raw_data(std::string(1200, '\1'));
  test::TestModel model(source.SerializeAsString());
  const auto graph = model->to_graph();
  const GraphValue* w = test::value_named(*graph, "w");
  const ExportedModel exported = export_fragment(all_of(*graph), nullptr);
  check(exported);
  ASSERT_EQ(exported.weights.size(), 1U);  // though it has two slots
  EXPECT_EQ(exported.weights[0]->view.data, w->constant->view.data);
  const ModelProto proto = parse(exported);
  ASSERT_EQ(proto.graph().initializer_size(), 2);
  const TensorProto& small = proto.graph().initializer(0);
  EXPECT_EQ(small.name(), "small");
  EXPECT_EQ(small.raw_data().size(), 8U);
  const TensorProto& large = proto.graph().initializer(1);
  EXPECT_EQ(large.name(), "w");
  EXPECT_EQ(large.data_location(), TensorProto::EXTERNAL);
  EXPECT_EQ(large.external_data(0).key(), "location");
  EXPECT_EQ(large.external_data(0).value(), "gantry:0");
  EXPECT_EQ(large.external_data(1).value(), "1200");
  EXPECT_TRUE(large.raw_data().empty());
}

TEST(Exporter, BodiesReadOuterValuesByName) {
  test::TestModel model(test::model_bytes(R"(
    g (bool c, float[2] x) => (float[2] y) {
      a = Relu(x)
      y = If (c) <
        then_branch = t () => (float[2] r) { b = Neg(a) r = Add(b, a) },
        else_branch = e () => (float[2] r) { b = Abs(a) r = Mul(b, b) }
      >
    })"));
  const auto graph = model->to_graph();
  const ExportedModel exported = export_fragment(cut(*graph, 1, 1), nullptr);
  check(exported);
  const ModelProto proto = parse(exported);
  EXPECT_EQ(names(proto.graph().input()), (Names{"c", "a"}));
  const GraphProto& then = proto.graph().node(0).attribute(0).g();
  EXPECT_EQ(then.node(0).input(0), "a");
  EXPECT_EQ(then.node(1).input(1), "a");
  const GraphProto& otherwise = proto.graph().node(0).attribute(1).g();
  EXPECT_EQ(otherwise.node(0).input(0), "a");
  EXPECT_EQ(otherwise.node(1).input(0), otherwise.node(0).output(0));
  EXPECT_NE(otherwise.node(0).output(0), then.node(0).output(0));  // a name of its own
}

TEST(Exporter, ABodyThatHandsAnOuterValueOnGetsANodeForIt) {
  test::TestModel model(test::model_bytes(R"(
    g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <
        then_branch = t () => (float[2] r) { r = Identity(x) },
        else_branch = e () => (float[2] r) { r = Neg(x) }
      >
    })"));
  const auto graph = model->to_graph();
  Graph& then = *graph->nodes()[0]->bodies()[0];
  then.replace_uses(then.outputs()[0], then.captures[0]);  // as a pass leaves it
  then.remove_node(then.nodes()[0].get());
  then.sweep();
  const ExportedModel exported = export_fragment(all_of(*graph), nullptr);
  check(exported);
  const ModelProto proto = parse(exported);
  const GraphProto& body = proto.graph().node(0).attribute(0).g();
  ASSERT_EQ(body.node_size(), 1);
  EXPECT_EQ(body.node(0).op_type(), "Identity");
  EXPECT_EQ(body.node(0).input(0), "x");
  EXPECT_EQ(body.output(0).name(), body.node(0).output(0));
}

TEST(Exporter, FunctionsComeAlongWithThoseThatTheyCall) {
  test::TestModel model(test::model_bytes(R"(
    <ir_version: 8, opset_import: ["" : 18, "my" : 1]>
    g (float[2] x) => (float[2] y) { a = Relu(x) y = my.outer(a) }
    <domain: "my", opset_import: ["" : 18, "my" : 1]>
    outer (p) => (q) { q = my.inner(p) }
    <domain: "my", opset_import: ["" : 18]>
    inner (p) => (q) { s = Softmax <axis = -1> (p) q = Neg(s) }
    <domain: "my", opset_import: ["" : 18]>
    unused (p) => (q) { q = Neg(p) })"));
  const auto graph = model->to_graph();
  const ExportedModel exported = export_fragment(cut(*graph, 1, 1), &*model.operator->());
  check(exported);
  const ModelProto proto = parse(exported);
  ASSERT_EQ(proto.functions_size(), 2);
  EXPECT_EQ(proto.functions(0).name(), "outer");
  EXPECT_EQ(proto.functions(1).name(), "inner");
  std::map<std::string, int64_t> imports;
  for (const auto& import : proto.opset_import()) imports[import.domain()] = import.version();
  EXPECT_EQ(imports, (std::map<std::string, int64_t>{{"", 13}, {"my", 1}}));
}

TEST(Exporter, AnEmptyOptionalKeepsItsType) {
  test::TestModel model(test::model_bytes(R"(
    g (float[2] x) => (bool y) {
      o = Optional <type = seq(int64[N])> ()
      y = OptionalHasElement(o)
    })"));
  const auto graph = model->to_graph();
  test::value_named(*graph, "o")->type.kind = Kind::kOptional;
  const ExportedModel exported = export_fragment(all_of(*graph), nullptr);
  EXPECT_TRUE(parse(exported).graph().node(0).attribute(0).has_tp());
}

// Nodes of opset 12, as they mean it, beside one that there is since opset 18.
std::unique_ptr<Graph> mixed_opsets(test::TestModel& model) {
  auto graph = model->to_graph();
  graph->nodes().back()->op_type = "Mish";
  graph->nodes().back()->since_version = 18;
  return graph;
}

TEST(Exporter, NodesOfOlderOpsetsAreRaisedToThatOfTheNewest) {
  test::TestModel model(test::model_bytes(R"(
    <ir_version: 8, opset_import: ["": 12]>
    g (float[2, 3, 4] x, bool c) => (float[1, 2, 3] y) {
      s = Softmax <axis = 1> (x)
      u = If (c) <then_branch = t () => (float[2, 3] a) { a = ReduceSum <axes = [2], keepdims = 0> (s) },
                  else_branch = e () => (float[2, 3] b) { b = ReduceMax <axes = [2], keepdims = 0> (s) }>
      v = Unsqueeze <axes = [0]> (u)
      raised_axes = Relu(v)
      y = Neg(raised_axes)
    })"));
  const auto graph = mixed_opsets(model);
  const ExportedModel exported = export_fragment(all_of(*graph), nullptr);
  check(exported);
  ModelProto proto = parse(exported);
  ASSERT_EQ(proto.opset_import_size(), 1);
  EXPECT_EQ(proto.opset_import(0).version(), 18);
  EXPECT_EQ(names(proto.graph().output()), Names{"y"});
  // Axes have become inputs, and Softmax of the flattened axes three nodes.
  std::map<std::string, int> counts;
  gantry::onnx::for_each_node(proto, [&](const ONNX_NAMESPACE::NodeProto& node) {
    ++counts[node.op_type()];
    if (node.op_type() == "ReduceSum" || node.op_type() == "Unsqueeze") {
      EXPECT_EQ(node.input_size(), 2) << node.op_type();
      EXPECT_NE(node.input(1), "");
    }
  });
  EXPECT_EQ(counts["Softmax"], 1);
  EXPECT_EQ(counts["Flatten"], 1);
  EXPECT_EQ(counts["Reshape"], 1);
  EXPECT_EQ(counts["Mish"], 1);
  const ONNX_NAMESPACE::ShapeInferenceOptions strict(true, 1);
  EXPECT_NO_THROW(ONNX_NAMESPACE::shape_inference::InferShapes(
      proto, ONNX_NAMESPACE::OpSchemaRegistry::Instance(), strict));
}

TEST(Exporter, ANodeThatCannotBeRaisedIsSaid) {
  test::TestModel model(test::model_bytes(R"(
    <ir_version: 8, opset_import: ["": 8]>
    g (float[2, 3] x, bool c) => (float[2, 3] y) {
      [old] a = If (c) <then_branch = t () => (float[2, 3] d) { d = Abs(x) },
                        else_branch = e () => (float[2, 3] b) { b = Relu(x) }>
      y = Neg(a)
    })"));
  test::expect_error(Code::kUnsupported, {"If \"old\" is of opset 1", "opset 18", "separately"},
                     [&] { export_fragment(all_of(*mixed_opsets(model)), nullptr); });
}

TEST(Exporter, WhatCannotBeWrittenIsSaid) {
  test::TestModel model(test::model_bytes(R"(
    g (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) })"));
  const auto graph = model->to_graph();
  test::value_named(*graph, "a")->type = {};
  test::expect_error(Code::kUnsupported, {"input \"a\"", "a map, or unknown"},
                     [&] { export_fragment(cut(*graph, 1, 1), nullptr); });
}

}  // namespace
}  // namespace gantry
