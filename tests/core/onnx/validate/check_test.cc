// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/check.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "expect_error.h"
#include "model_text.h"

namespace gantry {
namespace {

using ONNX_NAMESPACE::ModelProto;
using ONNX_NAMESPACE::TensorProto;

void expect_invalid(const std::string& bytes, const std::vector<std::string>& parts) {
  test::expect_error(Code::kInvalidModel, parts, [&] { (void)test::TestModel(bytes)->to_graph(); });
}

void expect_invalid_text(const std::string& text, const std::vector<std::string>& parts) {
  expect_invalid(test::model_bytes(text), parts);
}

void expect_invalid_initializer(const std::function<void(TensorProto&)>& damage,
                                const std::vector<std::string>& parts) {
  ModelProto model = test::parse_model("g (float[N] x) => (float[N] y) { y = Add(x, w) }");
  TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(TensorProto::FLOAT);
  damage(*tensor);
  expect_invalid(model.SerializeAsString(), parts);
}

TEST(Check, NodesMustStandInOrder) {
  expect_invalid_text("g (float[N] x) => (float[N] y) { a = Add(x, b) b = Relu(a) y = Abs(b) }",
                      {"Add that makes \"a\"", "reads \"b\"", "cycle"});
  expect_invalid_text("g (float[N] x) => (float[N] y) { y = Relu(a) a = Abs(b) b = Exp(a) }",
                      {"Relu that makes \"y\"", "reads \"a\"", "order"});
  expect_invalid_text("g (float[N] x) => (float[N] y) { y = Add(x, zz) }",
                      {"\"zz\", which nothing in the model defines"});
  expect_invalid_text(R"(g (bool b, float[N] x) => (float[N] y) {
      y = If (b) <then_branch = t () => (float[N] s) { s = Relu(late) },
                  else_branch = e () => (float[N] u) { u = Abs(x) }>
      late = Relu(y)
    })",
                      {"reads \"late\" before it is computed"});
}

TEST(Check, TypesMustFit) {
  expect_invalid_text("g (float[N] x, int64[N] k) => (float[N] y) { y = Add(x, k) }",
                      {"Add", "int64"});
  expect_invalid_text("g (float[N] x) => (int64[N] y) { y = Relu(x) }",
                      {"Relu", "float32 is not int64"});
  expect_invalid_text("g (float[2,3] x, float[4,5] z) => (float[2,5] y) { y = MatMul(x, z) }",
                      {"MatMul", "Incompatible dimensions"});
  expect_invalid_text("g (float[N] x) => (float[N] y) { y = LeakyRelu <alpha = 3> (x) }",
                      {"LeakyRelu", "alpha"});
}

TEST(Check, OperatorsAndOpsetsMustExist) {
  expect_invalid_text("g (float[N] x) => (float[N] y) { y = Foo(x) }", {"Foo", "18"});
  expect_invalid_text("g (float[N] x) => (float[N] y) { y = my.Foo(x) }", {"Foo", "'my'"});
  expect_invalid_text(
      "<ir_version: 8, opset_import: [\"\" : 999]> g (float[N] x) => (float[N] y) { y = Relu(x) }",
      {"opset 999", "\"ai.onnx\"", "1 to "});
  expect_invalid_text(
      "<ir_version: 99, opset_import: [\"\" : 18]> g (float[N] x) => (float[N] y) { y = Relu(x) }",
      {"ir_version 99"});
}

TEST(Check, OfAnyNumberOfInputsNoneMayBeLeftOut) {
  for (const std::string op : {"Max", "Sum", "Mean"}) {
    ModelProto model =
        test::parse_model("g (float[N] x) => (float[N] y) { [n] y = " + op + "(x, x) }");
    *model.mutable_graph()->mutable_node(0)->mutable_input(1) = "";
    expect_invalid(model.SerializeAsString(), {op + " \"n\": input 1 is left out", "\"data_0\""});
  }
}

TEST(Check, ShapesMustBePossible) {
  expect_invalid_text(
      "g (float[4611686018427387904, 4611686018427387904] x) => (float[N, M] y) "
      "{ y = Relu(x) }",
      {"\"x\"", "2^63"});
  expect_invalid_text("g (float[-5, 3] x) => (float[N, M] y) { y = Relu(x) }", {"\"x\"", "-5"});
  expect_invalid_initializer(
      [](TensorProto& w) {
        w.add_dims(int64_t{1} << 62);
        w.add_dims(int64_t{1} << 62);
        w.set_raw_data("1234");
      },
      {"w", "overflow"});
  expect_invalid_initializer(
      [](TensorProto& w) {
        w.add_dims(-2);
        w.set_raw_data("1234");
      },
      {"w", "Negative"});
  expect_invalid_initializer(
      [](TensorProto& w) {
        w.add_dims(2000);
        w.set_raw_data(std::string(7000, 'x'));
      },
      {"\"w\"", "8000", "7000"});
  expect_invalid_initializer(
      [](TensorProto& w) {
        w.add_dims(1);
        w.set_raw_data(std::string(8, 'x'));
      },
      {"\"w\"", "needs 4 bytes; found 8"});
  expect_invalid_initializer(
      [](TensorProto& w) {
        w.set_data_type(77);
        w.set_raw_data("1234");
      },
      {"\"w\"", "element type number 77"});
}

TEST(Check, MessagesAreOneLine) {
  try {
    (void)test::TestModel(
        test::model_bytes("g (float[N] x) => (float[N] y) { y = Relu <foo = 3> (x) }"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "model in memory: the model breaks a rule of ONNX (checker): Relu \"\": Unrecognized "
              "attribute: foo for "
              "operator Relu");
  }
}

TEST(Check, ThingsThatAreNoModel) {
  expect_invalid("hello, this is no model at all", {"not an ONNX model"});
  expect_invalid(std::string(100, '\0'), {"not an ONNX model", "byte 0"});
  expect_invalid(std::string("\x08\x08", 2), {"no graph"});
  test::expect_error(Code::kInvalidModel, {"empty"},
                     [] { OnnxModel(ModelSource(std::span<const std::byte>(), "")); });
  test::expect_error(Code::kNotFound, {"/no/such.onnx"},
                     [] { OnnxModel(ModelSource("/no/such.onnx")); });
  test::expect_error(Code::kInvalidModel, {"regular file"}, [] { OnnxModel(ModelSource("/")); });
}

}  // namespace
}  // namespace gantry
