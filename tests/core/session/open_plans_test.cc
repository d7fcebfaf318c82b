// SPDX-License-Identifier: Apache-2.0
// Two plans of one model share packed weights and the session's memory limit.
#include <gantry/gantry.h>

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "model_text.h"
#include "plugin/packed.h"

namespace gantry {
namespace {

float default_at(size_t index) { return static_cast<float>(index * 2654435761U % 17) - 8.0F; }

// y = x * w + b, of which w [256,256] and b [256] are inputs that have a default.
std::string product() {
  ONNX_NAMESPACE::ModelProto model = test::parse_model(
      "g (float[8, 256] x, float[256, 256] w, float[256] b) => (float[8, 256] y) {"
      " p = MatMul(x, w) y = Add(p, b) }");
  const auto add = [&](const char* name, const std::vector<int64_t>& shape, int64_t count) {
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(ONNX_NAMESPACE::TensorProto::FLOAT);
    for (const int64_t extent : shape) tensor->add_dims(extent);
    std::vector<float> elements(static_cast<size_t>(count));
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = default_at(i);
    tensor->set_raw_data(elements.data(), elements.size() * sizeof(float));
  };
  add("w", {256, 256}, 256 * 256);
  add("b", {256}, 256);
  return model.SerializeAsString();
}

Tensor filled(const Session& session, const std::string& name, float value) {
  Tensor tensor = session.allocate(name);
  auto* data = static_cast<float*>(tensor.data());
  for (size_t i = 0; i < tensor.size_bytes() / sizeof(float); ++i) data[i] = value;
  return tensor;
}

TEST(OpenPlans, PackedWeightsThatBothReadAreThereOnce) {
  const std::string bytes = product();
  Runtime runtime;
  Session session(runtime, ModelSource(test::as_bytes(bytes), {}));
  const Tensor x = filled(session, "x", 1);
  static_cast<void>(session.run({{"x", x}}));
  const uint64_t packed = packed_bytes();
  if (packed == 0) GTEST_SKIP() << "no provider here packs the weights of a MatMul";
  const uint64_t pool = session.memory().arena + session.memory().pool;
  static_cast<void>(session.run({{"x", x}, {"b", filled(session, "b", 3)}}));
  EXPECT_EQ(packed_bytes(), packed);
  EXPECT_GE(session.memory().arena + session.memory().pool, pool);
  const float before = static_cast<const float*>(session.run({{"x", x}})[0].data())[5];
  const Tensor moved = session.run({{"x", x}, {"b", filled(session, "b", 3)}})[0];
  const float after = static_cast<const float*>(moved.data())[5];
  EXPECT_FLOAT_EQ(after - 3, before - default_at(5));
}

TEST(OpenPlans, ASessionMayOutliveItsRuntime) {
  const std::string bytes = product();
  std::optional<Runtime> runtime(std::in_place);
  Session session(*runtime, ModelSource(test::as_bytes(bytes), {}));
  runtime.reset();
  const Tensor x = filled(session, "x", 0);
  const Tensor y = session.run({{"x", x}, {"b", filled(session, "b", 3)}})[0];
  EXPECT_EQ(static_cast<const float*>(y.data())[9], 3);
}

TEST(OpenPlans, BothTakeTheirMemoryFromTheLimitOfTheSession) {
  const std::string bytes = product();
  Runtime runtime;
  SessionOptions options;
  options.config_json = R"({"session": {"memory_limit_bytes": 131072}})";
  Session session(runtime, ModelSource(test::as_bytes(bytes), {}), options);
  const Tensor x = filled(session, "x", 0);
  for (int round = 0; round < 4; ++round) {
    static_cast<void>(session.run({{"x", x}}));
    static_cast<void>(session.run({{"x", x}, {"b", filled(session, "b", 3)}}));
    EXPECT_LE(session.memory().arena + session.memory().pool, 131072U);
  }
}

}  // namespace
}  // namespace gantry
