// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/infer_types.h"

#include <gantry/error.h>

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "model_text.h"
#include "onnx/bodies/microsoft.h"
#include "onnx/schema/schema_store.h"
#include "onnx/schema/schema_table.h"

namespace gantry {
namespace {

using ONNX_NAMESPACE::AttributeProto;
using ONNX_NAMESPACE::GraphProto;
using ONNX_NAMESPACE::ModelProto;
using ONNX_NAMESPACE::NodeProto;
using ONNX_NAMESPACE::OpSchema;
using ONNX_NAMESPACE::TensorProto;

/// What is known of the inputs of the node under test.
enum class Known {
  kNothing,        ///< each is made by an operator without a schema
  kType,           ///< tensors of f32 of unknown rank
  kTypeButFirst,   ///< the first is made by an operator without a schema
  kFirstTypeOnly,  ///< all but the first are
  kScalars,        ///< tensors of f32 of rank 0
};

/// Every operator of the schema store in every version.
std::vector<const OpSchema*> all_schemas() {
  std::vector<const OpSchema*> schemas;
  for (const SchemaRow& row : schema_table()) {
    const std::string domain = row.domain ? row.domain : row.make().domain();
    schemas.push_back(SchemaStore::instance().GetSchema(row.name, row.version, domain));
  }
  for (const OpSchema& schema : microsoft_schemas())
    schemas.push_back(SchemaStore::instance().newest(schema.Name(), schema.domain()));
  return schemas;
}

void add_required_attribute(const std::string& name, AttributeProto::AttributeType type,
                            NodeProto& node) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  switch (type) {
    case AttributeProto::INT:
      attribute.set_i(1);
      break;
    case AttributeProto::INTS:
      attribute.add_ints(1);
      break;
    case AttributeProto::FLOAT:
      attribute.set_f(1);
      break;
    case AttributeProto::FLOATS:
      attribute.add_floats(1);
      break;
    case AttributeProto::STRING:
      attribute.set_s("x");
      break;
    case AttributeProto::STRINGS:
      attribute.add_strings("x");
      break;
    case AttributeProto::TENSOR:
      attribute.mutable_t()->set_data_type(TensorProto::FLOAT);
      attribute.mutable_t()->add_float_data(1);
      break;
    case AttributeProto::GRAPH:
      attribute.mutable_g()->set_name("body");
      break;
    default:
      break;
  }
}

bool is_typed(Known known, int input) {
  switch (known) {
    case Known::kNothing:
      return false;
    case Known::kType:
    case Known::kScalars:
      return true;
    case Known::kTypeButFirst:
      return input > 0;
    case Known::kFirstTypeOnly:
      return input == 0;
  }
  return false;
}

/// One node of the schema's operator between inputs of which little is known and a Relu.
ModelProto model_of(const OpSchema& schema, int inputs, Known known) {
  constexpr int kMostOutputs = 4;
  ModelProto model;
  model.set_ir_version(10);
  const auto import = [&](const std::string& domain, int version) {
    auto& opset = *model.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  };
  import("vendor", 1);
  import(schema.domain(), schema.since_version());
  if (!schema.domain().empty()) import("", 21);
  GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  NodeProto node;
  node.set_op_type(schema.Name());
  node.set_domain(schema.domain());
  for (int i = 0; i < inputs; ++i) {
    const std::string name = "x" + std::to_string(i);
    node.add_input(name);
    if (is_typed(known, i)) {
      auto& input = *graph.add_input();
      input.set_name(name);
      auto& type = *input.mutable_type()->mutable_tensor_type();
      type.set_elem_type(TensorProto::FLOAT);
      if (known == Known::kScalars) type.mutable_shape();
    } else {
      NodeProto& unknown = *graph.add_node();
      unknown.set_op_type("Unknown");
      unknown.set_domain("vendor");
      unknown.add_output(name);
    }
  }
  for (int i = 0; i < std::clamp(schema.max_output(), 1, kMostOutputs); ++i)
    node.add_output("y" + std::to_string(i));
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.required) add_required_attribute(name, attribute.type, node);
  }
  *graph.add_node() = node;
  NodeProto& reader = *graph.add_node();
  reader.set_op_type("Relu");
  reader.add_input("y0");
  reader.add_output("z");
  auto& output = *graph.add_output();
  output.set_name("z");
  output.mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
  return model;
}

// An exporter's model may hold an operator without a schema; what stands behind it has inputs of
// unknown type.
TEST(InferTypes, EveryOperatorTakesInputsOfWhichLittleIsKnown) {
  constexpr int kMostInputs = 12;
  int loaded = 0;
  for (const OpSchema* schema : all_schemas()) {
    ASSERT_NE(schema, nullptr);
    for (const int inputs :
         {std::min(schema->min_input(), kMostInputs), std::min(schema->max_input(), kMostInputs)}) {
      for (const Known known : {Known::kNothing, Known::kType, Known::kTypeButFirst,
                                Known::kFirstTypeOnly, Known::kScalars}) {
        const ModelProto model = model_of(*schema, inputs, known);
        SCOPED_TRACE(schema->domain() + "." + schema->Name() + " " +
                     std::to_string(schema->since_version()));
        try {
          const auto graph = test::TestModel(model.SerializeAsString())->to_graph();
          loaded += graph ? 1 : 0;
        } catch (const Error& error) {
          EXPECT_NE(error.code(), Code::kInternal) << error.what();
        }
      }
    }
  }
  EXPECT_GT(loaded, 1000);
}

TEST(InferTypes, SimplifiedLayerNormalizationBehindAnUnknownOperator) {
  const auto graph = test::graph_of(R"(
    <ir_version: 8, opset_import: ["" : 18, "vendor" : 1]>
    g (int64[N] x, float[16] scale) => (float[a, b] y) {
      h = vendor.Embedding(x)
      y = SimplifiedLayerNormalization<axis = -1, epsilon = 0.00001>(h, scale)
    })");
  EXPECT_EQ(graph->outputs()[0]->type.dtype, DType::kFloat);
}

}  // namespace
}  // namespace gantry
