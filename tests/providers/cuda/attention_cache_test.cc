// SPDX-License-Identifier: Apache-2.0
// GroupQueryAttention over a cache of the caller's that stays on the device.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "fake_runtime.h"

namespace gantry::test {
namespace {

constexpr int64_t kRoom = 8;
constexpr int64_t kWidth = 16;

std::string model(const std::string& present) {
  return "<ir_version: 10, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> "
         "g (float[1, 1, 16] q, float[1, 1, 16] k, float[1, 1, 16] v, float[1, 1, room, 16] keys, "
         "float[1, 1, room, 16] values, int32[1] last, int32[1] total) => (float[1, 1, 16] y, "
         "float[1, 1, " +
         present + ", 16] new_keys, float[1, 1, " + present +
         ", 16] new_values) "
         "{ sums, new_keys, new_values = com.microsoft.GroupQueryAttention <num_heads = 1, "
         "kv_num_heads = 1> (q, k, v, keys, values, last, total) y = Neg(sums) }";
}

// What a test feeds and binds.
struct Steps {
  Session session;
  Tensor keys = session.allocate_on("CUDA:0", DType::kFloat, {1, 1, kRoom, kWidth});
  Tensor values = session.allocate_on("CUDA:0", DType::kFloat, {1, 1, kRoom, kWidth});
  Tensor q{DType::kFloat, {1, 1, kWidth}};
  Tensor k{DType::kFloat, {1, 1, kWidth}};
  Tensor v{DType::kFloat, {1, 1, kWidth}};
  Tensor last{DType::kInt32, {1}};
  Tensor total{DType::kInt32, {1}};
  Binding binding{session};

  explicit Steps(Session made) : session(std::move(made)) {
    const Tensor zeros(DType::kFloat, {1, 1, kRoom, kWidth});
    session.copy(zeros, keys);
    session.copy(zeros, values);
    const std::vector<std::pair<const char*, Tensor*>> inputs = {
        {"q", &q},       {"k", &k},           {"v", &v},        {"keys", &keys},
        {"last", &last}, {"values", &values}, {"total", &total}};
    for (const auto& [name, tensor] : inputs) binding.input(name, *tensor);
    binding.output("new_keys", keys);
    binding.output("new_values", values);
  }

  // All queries are 0, so that every key counts alike.
  void run(int32_t step) {
    std::ranges::fill(v.elements<float>(), static_cast<float>(step + 1));
    last.elements<int32_t>()[0] = step;
    total.elements<int32_t>()[0] = step + 1;
    binding.run();
    const Tensor y = binding.result("y").tensor();
    EXPECT_NEAR(y.elements<float>()[0], -static_cast<float>(step + 2) / 2, 1e-5) << step;
  }
};

TEST(CudaAttention, WritesACacheOfOneLengthInPlaceAndIsCaptured) {
  const FakeCounters& counters = FakeRuntime::counters();
  FakeRuntime runtime("devices=1");
  Steps steps(runtime.session(model("room")));
  const uint64_t captures = counters.captures;
  for (int32_t step = 0; step < kRoom; ++step) {
    const uint64_t copies = counters.copies;
    const uint64_t graphs = counters.graph_launches;
    steps.run(step);
    EXPECT_EQ(counters.copies - copies, 6U) << "five small inputs there, y back";
    if (step > 2) {
      EXPECT_EQ(counters.graph_launches - graphs, 1U) << step;
    }
  }
  EXPECT_EQ(counters.captures - captures, 1U) << "for all steps";
  Tensor found(DType::kFloat, {1, 1, kRoom, kWidth});
  steps.session.copy(steps.values, found);
  for (int64_t place = 0; place < kRoom; ++place) {
    EXPECT_FLOAT_EQ(found.elements<float>()[static_cast<size_t>(place * kWidth)],
                    static_cast<float>(place + 1));
  }
}

// Where the model says nothing of its length the number of keys is read on the host, which no
// capture may.
TEST(CudaAttention, WritesACacheThatMightGrowInPlaceToo) {
  const FakeCounters& counters = FakeRuntime::counters();
  FakeRuntime runtime("devices=1");
  Steps steps(runtime.session(model("more")));
  for (int32_t step = 0; step < kRoom; ++step) {
    const uint64_t copies = counters.copies;
    steps.run(step);
    EXPECT_EQ(counters.copies - copies, 5U) << "four small inputs there, y back";
  }
}

// What comes out of one node is the past of the next, and nobody else reads it.
TEST(CudaAttention, WritesOverAPastThatNobodyReadsLater) {
  const FakeCounters& counters = FakeRuntime::counters();
  FakeRuntime runtime("devices=1");
  Session session = runtime.session(
      "<ir_version: 10, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> "
      "g (float[1, 1, 16] q, float[1, 1, room, 16] keys, float[1, 1, room, 16] values, int32[1] "
      "last, int32[1] total) => (float[1, 1, 16] y, float[1, 1, room, 16] new_keys, float[1, 1, "
      "room, 16] new_values) <float[1, 1, room, 16] more_keys, float[1, 1, room, 16] more_values> "
      "{ x, more_keys, more_values = com.microsoft.GroupQueryAttention <num_heads = 1, "
      "kv_num_heads = 1> (q, q, q, keys, values, last, total) "
      "y, new_keys, new_values = com.microsoft.GroupQueryAttention <num_heads = 1, "
      "kv_num_heads = 1> (x, q, x, more_keys, more_values, last, total) }");
  const Tensor row(DType::kFloat, {1, 1, kWidth});
  const Tensor cache(DType::kFloat, {1, 1, kRoom, kWidth});
  Tensor last(DType::kInt32, {1});
  Tensor total(DType::kInt32, {1});
  last.elements<int32_t>()[0] = 3;
  total.elements<int32_t>()[0] = 4;
  const uint64_t copies = counters.copies;
  session.run({{"q", row}, {"keys", cache}, {"values", cache}, {"last", last}, {"total", total}});
  EXPECT_EQ(counters.copies - copies, 8U) << "five inputs there, three outputs back";
}

}  // namespace
}  // namespace gantry::test
