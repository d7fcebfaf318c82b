// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/schema.h"

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>
#include <thread>
#include <vector>

#include "onnx/schema/schema_store.h"

namespace gantry {
namespace {

TEST(Schema, SinceVersionIsThatOfTheSchema) {
  EXPECT_EQ(since_version("Relu", "", 18), 14);
  EXPECT_EQ(since_version("Relu", "", 13), 13);
  EXPECT_EQ(since_version("Relu", "", 7), 6);
  EXPECT_EQ(since_version("Scaler", "ai.onnx.ml", 3), 1);
  EXPECT_EQ(since_version("Unknown", "my", 4), 4);
}

TEST(Schema, RandomAndUnknownOperatorsAreNondeterministic) {
  EXPECT_TRUE(is_nondeterministic("RandomUniform", "", 22));
  EXPECT_TRUE(is_nondeterministic("Multinomial", "", 7));
  EXPECT_TRUE(is_nondeterministic("Bernoulli", "", 15));
  EXPECT_TRUE(is_nondeterministic("Unknown", "my", 1));
  EXPECT_FALSE(is_nondeterministic("Add", "", 14));
  EXPECT_FALSE(is_nondeterministic("ConstantOfShape", "", 9));
}

// What the library's own registry, which makes all of them, would answer.
TEST(Schema, TheStoreHasEverySchemaOfTheLibrary) {
  size_t count = 0;
  for (const onnx::OpSchema& known : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    const onnx::OpSchema* schema =
        SchemaStore::instance().GetSchema(known.Name(), known.SinceVersion(), known.domain());
    const std::string name =
        known.domain() + "." + known.Name() + " " + std::to_string(known.SinceVersion());
    ASSERT_NE(schema, nullptr) << name;
    EXPECT_EQ(schema->SinceVersion(), known.SinceVersion()) << name;
    EXPECT_EQ(schema->domain(), known.domain()) << name;
    EXPECT_EQ(schema->Deprecated(), known.Deprecated()) << name;
    EXPECT_EQ(schema->max_input(), known.max_input()) << name;
    EXPECT_EQ(schema->attributes().size(), known.attributes().size()) << name;
    EXPECT_EQ(is_nondeterministic(known.Name(), known.domain(), known.SinceVersion()),
              known.GetNodeDeterminism() == onnx::OpSchema::NodeDeterminism::NonDeterministic)
        << name;
    ++count;
  }
  EXPECT_GT(count, 600U);
}

TEST(Schema, AVersionHasTheNewestSchemaThatIsNotNewer) {
  const SchemaStore& store = SchemaStore::instance();
  EXPECT_EQ(store.GetSchema("Relu", 5, "")->SinceVersion(), 1);
  EXPECT_EQ(store.GetSchema("GroupNormalization", 17, ""), nullptr);
  EXPECT_EQ(store.GetSchema("LayerNormalization", 16, "")->SinceVersion(), 17);  // is_taken_early
  EXPECT_TRUE(is_taken_early("LayerNormalization", 16));
  EXPECT_FALSE(is_taken_early("LayerNormalization", 17));
  EXPECT_FALSE(is_taken_early("GroupNormalization", 17));
  EXPECT_EQ(store.newest("Gradient", "ai.onnx.preview.training")->SinceVersion(), 1);
  EXPECT_EQ(store.newest("Gradient", "ai.onnx.preview"), nullptr);
  EXPECT_EQ(store.newest("MatMulNBits", "com.microsoft")->SinceVersion(), 1);
  EXPECT_EQ(store.newest("MatMulNBits", ""), nullptr);
  EXPECT_EQ(store.GetSchema("SimplifiedLayerNormalization", 17, "")->SinceVersion(), 1);
  EXPECT_EQ(store.newest("Relu", "com.example"), nullptr);
}

TEST(Schema, ManyThreadsGetTheSameSchema) {
  std::vector<const onnx::OpSchema*> found(8);
  std::vector<std::thread> threads;
  threads.reserve(found.size());
  for (const onnx::OpSchema*& schema : found) {
    threads.emplace_back([&schema] { schema = SchemaStore::instance().newest("STFT", ""); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const onnx::OpSchema* schema : found) EXPECT_EQ(schema, found.front());
  EXPECT_NE(found.front(), nullptr);
}

}  // namespace
}  // namespace gantry
