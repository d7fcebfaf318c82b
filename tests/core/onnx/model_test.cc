// SPDX-License-Identifier: Apache-2.0
#include "onnx/model.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "expect_error.h"
#include "model_text.h"
#include "temp_folder.h"

namespace gantry {
namespace {

using ONNX_NAMESPACE::ModelProto;
using ONNX_NAMESPACE::TensorProto;
using test::TestModel;

TEST(OnnxModel, InfersTypesThroughConstantShapes) {
  const auto graph = test::graph_of(R"(
    g (float[N, 3, 8] x) => (float[a, b, c] y) {
      w = Constant <value_ints = [0, -1]> ()
      r = Reshape(x, w)
      axes = Constant <value_ints = [0]> ()
      y = Unsqueeze(r, axes)
    })");
  const GraphValue* r = test::value_named(*graph, "r");
  EXPECT_EQ(r->type.shape, (std::vector<int64_t>{-1, 24}));
  EXPECT_EQ(r->type.symbols, (std::vector<std::string>{"N", ""}));
  EXPECT_EQ(graph->outputs()[0]->type.shape, (std::vector<int64_t>{1, -1, 24}));
}

// The library refuses sums of known values that overflow; a run has them wrap.
TEST(OnnxModel, KnownValuesThatOverflow) {
  const auto graph = test::graph_of(R"(
    g () => (int64[1] y, int64[1] z) {
      most = Constant <value_ints = [9223372036854775807]> ()
      two = Constant <value_ints = [2]> ()
      y = Add(most, two)
      z = Mul(most, two)
    })");
  EXPECT_EQ(graph->outputs()[0]->type.shape, std::vector<int64_t>{1});
}

// Without the values of its shape, inference would make names up for the extents of r.
TEST(OnnxModel, DataNameExtents) {
  const auto graph = test::graph_of(R"(
    g (float[N, 4, L] x) => (float[a, b, c, d] y) {
      zero = Constant <value_ints = [0]> ()
      one = Constant <value_ints = [1]> ()
      two = Constant <value_ints = [2]> ()
      three = Constant <value_ints = [3]> ()
      parts = Constant <value_ints = [2, 2]> ()
      s = Shape(x)
      n = Slice(s, zero, one)
      l = Slice(s, two, three)
      shape = Concat <axis = 0> (n, parts, l)
      r = Reshape(x, shape)
      y = Relu(r)
    })");
  const GraphValue* r = test::value_named(*graph, "r");
  EXPECT_EQ(r->type.shape, (std::vector<int64_t>{-1, 2, 2, -1}));
  EXPECT_EQ(r->type.symbols, (std::vector<std::string>{"N", "", "", "L"}));
}

// The values of a long vector are not followed, those of shapes in the same model are.
TEST(OnnxModel, InfersComputedShapesBesideLongVectors) {
  const auto graph = test::graph_of(R"(
    g (float[2000000] long, int64[2000000] longer, float[2, 3, 8] x)
      => (float[k] sums, int64[k] doubled, float[a, b] y) {
      sums = Add(long, long)
      doubled = Add(longer, longer)
      extents = Shape(x)
      first = Constant <value_ints = [0]> ()
      rows = Gather(extents, first)
      rest = Constant <value_ints = [-1]> ()
      shape = Concat <axis = 0> (rows, rest)
      y = Reshape(x, shape)
    })");
  EXPECT_EQ(graph->outputs()[2]->type.shape, (std::vector<int64_t>{2, 24}));
}

TEST(OnnxModel, KnowsItsHeader) {
  ModelProto proto = test::parse_model(
      "<ir_version: 7, producer_name: \"p\", opset_import: [\"ai.onnx\" : 13, \"my\" : 2]>"
      "g (float[N] x) => (float[N] y) { y = Relu(x) }");
  auto* entry = proto.add_metadata_props();
  entry->set_key("k");
  entry->set_value("v");
  TestModel model(proto.SerializeAsString());
  EXPECT_EQ(model->ir_version(), 7);
  EXPECT_EQ(model->producer(), "p");
  EXPECT_EQ(model->opsets(), (std::map<std::string, int>{{"", 13}, {"my", 2}}));
  EXPECT_EQ(model->metadata().at("k"), "v");
  EXPECT_EQ(model->to_graph()->nodes()[0]->since_version, 13);
}

TEST(OnnxModel, EveryFormOfConstantBecomesAConstant) {
  const auto graph = test::graph_of(R"(
    g (float[N] x) => (float[N] y) {
      a = Constant <value = float[1] {1}> ()
      b = Constant <value_int = 3> ()
      c = Constant <value_ints = [4, 5]> ()
      d = Constant <value_float = 6.5> ()
      e = Constant <value_floats = [7.0]> ()
      f = Constant <value_string = "s"> ()
      h = Constant <value_strings = ["t", "u"]> ()
      y = Relu(x)
    })");
  EXPECT_EQ(graph->nodes().size(), 1u);
  const auto text = [&](const char* name) {
    return describe(*test::value_named(*graph, name)->constant);
  };
  EXPECT_EQ(text("a"), "float32[1]");
  EXPECT_EQ(text("b"), "int64[]");
  EXPECT_EQ(text("c"), "int64[2]");
  EXPECT_EQ(text("d"), "float32[]");
  EXPECT_EQ(text("e"), "float32[1]");
  EXPECT_EQ(text("f"), "string[]");
  EXPECT_EQ(text("h"), "string[2]");
  EXPECT_EQ(test::value_named(*graph, "h")->constant->strings[1], "u");
}

TEST(OnnxModel, SparseConstantsBecomeDense) {
  ModelProto proto = test::parse_model("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
  auto* sparse = proto.mutable_graph()->add_sparse_initializer();
  sparse->add_dims(2);
  sparse->mutable_values()->set_name("w");
  sparse->mutable_values()->set_data_type(TensorProto::FLOAT);
  sparse->mutable_values()->add_dims(1);
  sparse->mutable_values()->add_float_data(4);
  sparse->mutable_indices()->set_data_type(TensorProto::INT64);
  sparse->mutable_indices()->add_dims(1);
  sparse->mutable_indices()->add_int64_data(1);
  TestModel model(proto.SerializeAsString());
  const auto graph = model->to_graph();
  const ValueRef& constant = test::value_named(*graph, "w")->constant;
  ASSERT_TRUE(constant);
  EXPECT_EQ(static_cast<const float*>(constant->view.data)[1], 4.0f);
}

// "w" as input and as initializer, of the type and elements given.
std::string with_listed_initializer(const std::string& text, const char* name, int32_t data_type,
                                    const std::vector<int64_t>& dims, const std::string& data) {
  ModelProto proto = test::parse_model(text);
  auto* tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(data_type);
  for (const int64_t extent : dims) tensor->add_dims(extent);
  tensor->set_raw_data(data);
  return proto.SerializeAsString();
}

TEST(OnnxModel, InitializersThatAreInputsAreTheirInitialValues) {
  TestModel model(with_listed_initializer(
      "<ir_version: 4, opset_import: [\"\" : 9]>"
      "g (float[2] x, float[2] w) => (float[2] y) { y = Add(x, w) }",
      "w", TensorProto::FLOAT, {2}, std::string("\0\0\x80\x3F\0\0\0\x40", 8)));
  for (int round = 0; round < 2; ++round) {
    const auto graph = model->to_graph();
    ASSERT_EQ(graph->inputs.size(), 2u);
    EXPECT_FALSE(graph->inputs[0]->initial);
    const GraphValue* w = graph->inputs[1];
    EXPECT_FALSE(w->constant);
    ASSERT_TRUE(w->initial);
    EXPECT_EQ(static_cast<const float*>(w->initial->view.data)[1], 2.0f);
    EXPECT_NE(to_text(*graph).find("%w : float32[2] = float32[2] {1, 2}"), std::string::npos)
        << to_text(*graph);
  }
}

TEST(OnnxModel, NothingIsConcludedFromAnInitialValue) {
  TestModel model(with_listed_initializer(
      "<ir_version: 8, opset_import: [\"\" : 18]>"
      "g (float[6] x, int64[n] shape) => (float[a, b] y) { y = Reshape(x, shape) }",
      "shape", TensorProto::INT64, {2}, std::string("\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16)));
  const auto graph = model->to_graph();
  EXPECT_EQ(graph->outputs()[0]->type.shape, (std::vector<int64_t>{-1, -1}));
  ASSERT_EQ(graph->inputs.size(), 2u);
  EXPECT_EQ(graph->inputs[1]->type.shape, (std::vector<int64_t>{-1}));
}

TEST(OnnxModel, DefaultsThatAreNotOpenAreConstantsBesideTheirInputs) {
  const std::string bytes = with_listed_initializer(
      "<ir_version: 8, opset_import: [\"\" : 18]>"
      "g (int64[n] shape, float[6] x) => (float[a, b] y) { y = Reshape(x, shape) }",
      "shape", TensorProto::INT64, {2}, std::string("\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16));
  const OnnxModel model(ModelSource(test::as_bytes(bytes), {}), {.all = false, .names = {}});
  EXPECT_TRUE(model.has_constant_defaults());
  EXPECT_FALSE(model.declares_outputs());
  for (int round = 0; round < 2; ++round) {
    const auto graph = model.to_graph();
    ASSERT_EQ(graph->inputs.size(), 2u);
    EXPECT_EQ(graph->inputs[0]->name, "shape");
    EXPECT_EQ(graph->inputs[0]->type.shape, (std::vector<int64_t>{-1}));
    EXPECT_EQ(graph->inputs[1]->name, "x");
    EXPECT_FALSE(graph->inputs[0]->is_read());
    const GraphValue& sizes = *graph->nodes()[0]->inputs[1];
    ASSERT_TRUE(sizes.constant);
    EXPECT_EQ(sizes.constant, graph->inputs[0]->initial);
    EXPECT_EQ(graph->outputs()[0]->type.shape, (std::vector<int64_t>{2, 3}));
  }
  for (const OpenInputs& open : {OpenInputs{}, OpenInputs{.all = false, .names = {"shape"}}}) {
    const OnnxModel other(model, open);
    EXPECT_FALSE(other.has_constant_defaults());
    const auto graph = other.to_graph();
    EXPECT_TRUE(graph->inputs[0]->is_read());
    EXPECT_TRUE(graph->inputs[0]->initial);
    EXPECT_EQ(graph->outputs()[0]->type.shape, (std::vector<int64_t>{-1, -1}));
  }
}

TEST(OnnxModel, LargeInitialValuesAreAligned) {
  // Beside fields of odd lengths, so that the bytes of one of them start anywhere in the model.
  for (const char* name : {"w", "weight", "w23"}) {
    const std::string text =
        "<ir_version: 8, opset_import: [\"\" : 18]> g (float[4096] x, float[4096] " +
        std::string(name) + ") => (float[4096] y) { y = Add(x, " + name + ") }";
    TestModel model(with_listed_initializer(text, name, TensorProto::FLOAT, {4096},
                                            std::string(4 * 4096, '\1')));
    const auto graph = model->to_graph();
    ASSERT_TRUE(graph->inputs[1]->initial) << name;
    EXPECT_TRUE(is_aligned(*graph->inputs[1]->initial)) << name;
  }
}

TEST(OnnxModel, AnInitialValueHasToBeWhatItsInputIs) {
  test::expect_error(Code::kInvalidModel,
                     {"initializer \"w\" is float32[2]", "the input of that name float32[3]"}, [] {
                       TestModel model(with_listed_initializer(
                           "<ir_version: 8, opset_import: [\"\" : 18]>"
                           "g (float[3] x, float[3] w) => (float[3] y) { y = Add(x, w) }",
                           "w", TensorProto::FLOAT, {2}, std::string(8, '\0')));
                       static_cast<void>(model->to_graph());
                     });
  test::expect_error(Code::kInvalidModel,
                     {"initializer \"w\" is float32[2]", "the input of that name float32[3]"}, [] {
                       const std::string bytes = with_listed_initializer(
                           "<ir_version: 8, opset_import: [\"\" : 18]>"
                           "g (float[3] x, float[3] w) => (float[?] y) { y = Identity(w) }",
                           "w", TensorProto::FLOAT, {2}, std::string(8, '\0'));
                       const OnnxModel model(ModelSource(test::as_bytes(bytes), {}),
                                             {.all = false, .names = {}});
                       static_cast<void>(model.to_graph());
                     });
}

TEST(OnnxModel, InitializersAreConstantsAlsoWhereOldModelsListThemAsInputs) {
  ModelProto proto = test::parse_model(
      "<ir_version: 3, opset_import: [\"\" : 9]>"
      "g (float[2] x, float[2] w) => (float[2] y) { y = Add(x, w) }");
  auto* tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(TensorProto::FLOAT);
  tensor->add_dims(2);
  tensor->set_raw_data(std::string(8, '\0'));
  TestModel model(proto.SerializeAsString());
  const auto graph = model->to_graph();
  EXPECT_EQ(graph->inputs.size(), 1u);
  EXPECT_TRUE(test::value_named(*graph, "w")->constant);
  EXPECT_EQ(model->ir_version(), 3);
}

TEST(OnnxModel, LargeWeightsAreViewsOntoTheModel) {
  ModelProto proto = test::parse_model("g (float[1000] x) => (float[1000] y) { y = Add(x, w) }");
  auto* tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(TensorProto::FLOAT);
  tensor->add_dims(1000);
  tensor->set_raw_data(std::string(4000, '\0'));
  const std::string bytes = proto.SerializeAsString();
  const OnnxModel model(ModelSource(test::as_bytes(bytes), ""));
  const auto graph = model.to_graph();
  const auto* data = static_cast<const char*>(test::value_named(*graph, "w")->constant->view.data);
  EXPECT_GE(data, bytes.data());
  EXPECT_LE(data + 4000, bytes.data() + bytes.size());
  EXPECT_EQ(model.mapped_bytes(), 4000u);
}

TEST(OnnxModel, ConstantsKeepTheFileMapped) {
  ModelProto proto = test::parse_model("g (float[1000] x) => (float[1000] y) { y = Add(x, w) }");
  auto* tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(TensorProto::FLOAT);
  tensor->add_dims(1000);
  tensor->set_raw_data(std::string(4000, '\1'));
  const test::TempFolder folder;
  const std::string path = folder.write("m.onnx", proto.SerializeAsString());
  ValueRef constant;
  {
    const OnnxModel model{ModelSource(path)};
    constant = test::value_named(*model.to_graph(), "w")->constant;
  }
  EXPECT_EQ(static_cast<const char*>(constant->view.data)[3999], '\1');
  EXPECT_EQ(share(*constant), constant);
}

TEST(OnnxModel, CapturesChainThroughNestedBodies) {
  const auto graph = test::graph_of(R"(
    g (bool b, float[N] x) => (float[N] y) {
      c = Constant <value = float[1] {2}> ()
      a = Relu(x)
      y = If (b) <
        then_branch = t () => (float[N] s) {
          s = If (b) <
            then_branch = tt () => (float[N] p) { p = Mul(a, c) },
            else_branch = te () => (float[N] q) { q = Abs(x) }
          >
        },
        else_branch = e () => (float[N] u) { u = Abs(x) }
      >
    })");
  EXPECT_EQ(to_text(*graph), R"(graph g(%b : bool[], %x : float32[N]) -> (%y) {
  %c = float32[1] {2}
  %a = Relu-14(%x) : float32[N]
  %y = If-16(%b) captures (%b, %a, %x) {then_branch = graph t() captures (%b : bool[], %a : float32[N], %x : float32[N]) -> (%s) {
    %c = float32[1] {2}
    %s = If-16(%b) captures (%a, %x) {then_branch = graph tt() captures (%a : float32[N], _) -> (%p) {
      %c = float32[1] {2}
      %p = Mul-14(%a, %c) : float32[N]
    }, else_branch = graph te() captures (_, %x : float32[N]) -> (%q) {
      %q = Abs-13(%x) : float32[N]
    }} : float32[N]
  }, else_branch = graph e() captures (_, _, %x : float32[N]) -> (%u) {
    %u = Abs-13(%x) : float32[N]
  }} : float32[N]
}
)");
}

TEST(OnnxModel, BodiesHaveTypes) {
  const auto graph = test::graph_of(R"(
    g (int64 n, float[2] x) => (float[2] y, float[k, 2] z) {
      t = Constant <value = bool {1}> ()
      y, z = Loop (n, t, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] o) {
        d = Identity(c)
        w = Add(v, v)
        o = Relu(w)
      }>
    })");
  const Graph& body = *graph->nodes()[0]->bodies()[0];
  EXPECT_EQ(test::value_named(body, "o")->type.shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(test::value_named(body, "w")->type.dtype, DType::kFloat);
}

TEST(OnnxModel, SequencesAndOptionalsHaveKinds) {
  const auto graph = test::graph_of(R"(
    g (float[N] x) => (optional(float[N]) y, seq(float[N]) z) {
      y = Optional(x)
      z = SequenceConstruct(x, x)
    })");
  EXPECT_EQ(graph->outputs()[0]->type.kind, Kind::kOptional);
  EXPECT_EQ(graph->outputs()[1]->type.kind, Kind::kSequence);
  EXPECT_EQ(graph->outputs()[1]->type.dtype, DType::kFloat);
  EXPECT_FALSE(graph->outputs()[1]->type.has_rank);
}

TEST(OnnxModel, DeclaredShapesThatContradictAreDropped) {
  const auto graph = test::graph_of("g (float[2, 3] x) => (float[7, 3] y) { y = Relu(x) }");
  EXPECT_EQ(graph->outputs()[0]->type.shape, (std::vector<int64_t>{2, 3}));
}

TEST(OnnxModel, KnowsNondeterministicOperators) {
  const auto graph = test::graph_of(R"(
    <ir_version: 8, opset_import: ["" : 18, "my" : 1]>
    g (bool b, float[N] x) => (float[N] y) {
      r = RandomNormal <shape = [2]> ()
      a = Relu(x)
      u = my.Op(x)
      y = If (b) <then_branch = t () => (float[N] s) { s = RandomNormalLike(x) },
                  else_branch = e () => (float[N] v) { v = Abs(x) }>
    })");
  std::vector<bool> found;
  for (const auto& node : graph->nodes()) found.push_back(is_nondeterministic(*node));
  EXPECT_EQ(found, (std::vector<bool>{true, false, true, true}));
}

// Every prefix and many damaged copies of a model are either refused with INVALID_MODEL or valid.
class DamagedModel : public ::testing::Test {
 protected:
  DamagedModel() {
    ModelProto proto = test::parse_model(R"(
      g (bool b, float[N] x) => (float[N] y) {
        c = Constant <value = float[1] {2}> ()
        y = If (b) <then_branch = t () => (float[N] s) { s = Mul(x, c) },
                    else_branch = e () => (float[N] u) { u = Pad <mode = "edge"> (x, p) }>
      })");
    auto* pads = proto.mutable_graph()->add_initializer();
    pads->set_name("p");
    pads->set_data_type(TensorProto::INT64);
    pads->add_dims(2);
    pads->add_int64_data(0);
    pads->add_int64_data(0);
    bytes_ = proto.SerializeAsString();
  }

  static bool is_accepted(const std::string& bytes) {
    try {
      (void)TestModel(bytes)->to_graph();
      return true;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == Code::kInvalidModel || error.code() == Code::kUnsupported ||
                  error.code() == Code::kOutOfMemory)
          << error.what();
      EXPECT_FALSE(error.message().empty());
      return false;
    }
  }

  std::string bytes_;
};

TEST_F(DamagedModel, TruncatedAtEveryByte) {
  ASSERT_TRUE(is_accepted(bytes_));
  int accepted = 0;
  for (size_t size = 1; size < bytes_.size(); ++size)
    accepted += is_accepted(bytes_.substr(0, size));
  EXPECT_EQ(accepted, 0);
}

TEST_F(DamagedModel, WithRandomBytesChanged) {
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = bytes_;
    const unsigned changes = 1 + random() % 3;
    for (unsigned k = 0; k < changes; ++k) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    is_accepted(damaged);
  }
}

}  // namespace
}  // namespace gantry
