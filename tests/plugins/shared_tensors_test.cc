// SPDX-License-Identifier: Apache-2.0
// What goes to a worker process and back without a copy: there is no room for one in the shared
// memory while these run.
#include <gantry/gantry.h>

#include <atomic>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "isolated_runtime.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

using nlohmann::json;
using test::IsolatedRuntime;

constexpr int64_t kCount = 4 << 20;
constexpr uint64_t kBytes = kCount * sizeof(float);
const std::string kLongRelu = "g (float[n] x) => (float[n] y) { [r] y = Relu(x) }";
const json kMixed = {{"placement", {{"prefer", {"FAKE", "CPU"}}, {"fallback", "allow"}}}};

class SharedTensors : public testing::Test {
 protected:
  SharedArena& arena() {
    const DeviceProvider found = runtime_->impl().registry.find({"FAKE", 0})[0];
    return *found.provider->isolated()->arena();
  }

  bool is_shared(const Tensor& tensor) {
    uint64_t offset = 0;
    return arena().find(tensor.data(), tensor.size_bytes(), offset);
  }

  // Leaves one range free, too small for a tensor of these.
  void fill() {
    SharedArena::Block room = arena().allocate(kBytes / 2);
    for (uint64_t size = arena().size_bytes(); size >= kBytes / 2; size /= 2) {
      try {
        for (;;) taken_.push_back(arena().allocate(size));
      } catch (const Error&) {  // no such range any more: the next smaller ones
      }
    }
  }
  void empty() { taken_.clear(); }

  static void write(Tensor& tensor, float first) {
    auto elements = tensor.elements<float>();
    for (float& element : elements) element = -2;
    elements.front() = first;
    elements.back() = first + 1;
  }

  static void expect_ends(const Tensor& tensor, float first, float last) {
    const auto elements = tensor.elements<float>();
    ASSERT_EQ(elements.size(), static_cast<size_t>(kCount));
    EXPECT_EQ(elements.front(), first);
    EXPECT_EQ(elements[1], 0);
    EXPECT_EQ(elements.back(), last);
  }

  IsolatedRuntime runtime_;
  std::vector<SharedArena::Block> taken_;
};

TEST_F(SharedTensors, WhatIsAllocatedForASessionIsReadAndFilledInPlace) {
  Session session = runtime_.session(kLongRelu, "FAKE");
  Tensor x = session.allocate("x", {kCount});
  Tensor y = session.allocate("y", {kCount});
  ASSERT_TRUE(is_shared(x));
  ASSERT_TRUE(is_shared(y));
  Tensor elsewhere(DType::kFloat, {kCount});
  write(x, 3);
  write(elsewhere, 5);
  Binding binding(session);
  binding.input("x", x);
  binding.output("y", y);
  fill();
  binding.run();
  expect_ends(y, 3, 4);
  EXPECT_EQ(binding.result("y").tensor().data(), y.data());
  binding.input("x", elsewhere);
  test::expect_error(Code::kOutOfMemory, {"no room"}, [&] { binding.run(); });
  empty();
  binding.run();
  expect_ends(y, 5, 6);
}

TEST_F(SharedTensors, AnOutputIsTheNextInput) {
  Session session = runtime_.session(kLongRelu, "FAKE");
  Tensor x(DType::kFloat, {kCount});
  write(x, 7);
  const Tensor first = session.run({{"x", x}})[0];
  EXPECT_TRUE(is_shared(first));
  Tensor y = session.allocate("y", {kCount});
  Binding binding(session);
  binding.input("x", first);
  binding.output("y", y);
  fill();
  binding.run();
  expect_ends(y, 7, 8);
}

TEST_F(SharedTensors, WhatTheHostMakesForAWorkerLiesThereFromTheStart) {
  // Neg and its reshaped result are the CPU's; so is what leaves the session.
  Session session = runtime_.session(
      "g (float[n] x, int64[2] s) => (float[a, b] z) { m = Neg(x) t = Reshape(m, s) "
      "[r] y = Relu(t) z = Neg(y) }",
      "", kMixed);
  Tensor x(DType::kFloat, {kCount});
  write(x, -3);
  const Tensor s({2}, std::vector<int64_t>{4, kCount / 4});
  Tensor z = session.run({{"x", x}, {"s", s}})[0];
  ASSERT_EQ(z.shape(), (std::vector<int64_t>{4, kCount / 4}));
  EXPECT_TRUE(is_shared(z)) << "it may be the next input";
  EXPECT_EQ(z.elements<float>().front(), -3);
  EXPECT_EQ(z.elements<float>()[1], -2);
  EXPECT_EQ(z.elements<float>().back(), -2);
  // The second run has its memory: one block, as Reshape repeats what it reads.
  EXPECT_EQ(session.run({{"x", x}, {"s", s}})[0].elements<float>().front(), -3);
  EXPECT_GE(session.memory().arena, kBytes);
  EXPECT_LT(session.memory().arena, kBytes * 3 / 2);
  // One range is left, for what the worker makes; a copy of its input would have to lie there, too.
  SharedArena::Block room = arena().allocate(kBytes + 16 * SharedArena::kPage);
  fill();
  room.reset();
  Binding binding(session);
  binding.input("x", x);
  binding.input("s", s);
  binding.output("z", z);
  binding.run();
  EXPECT_EQ(z.elements<float>().front(), -3);
}

TEST_F(SharedTensors, ABoundOutputOfAnotherShapeIsSaid) {
  Session session = runtime_.session(kLongRelu, "FAKE");
  Tensor y = session.allocate("y", {kCount});
  Binding binding(session);
  binding.input("x", Tensor(DType::kFloat, {kCount / 2}));
  binding.output("y", y);
  test::expect_error(Code::kInvalidArgument, {"output \"y\"", "float32[2097152]"},
                     [&] { binding.run(); });
  binding.input("x", Tensor(DType::kFloat, {kCount}));
  binding.run();
  EXPECT_EQ(y.elements<float>()[5], 0);
}

TEST_F(SharedTensors, MemoryElsewhereIsFilledToo) {
  Session session = runtime_.session(kLongRelu, "FAKE");
  Tensor x(DType::kFloat, {kCount});
  Tensor y(DType::kFloat, {kCount});
  write(x, 9);
  write(y, 1);
  Binding binding(session);
  binding.input("x", x);
  binding.output("y", y);
  binding.run();
  expect_ends(y, 9, 10);
}

TEST_F(SharedTensors, AreOfTheHeapWhereNobodyIsApart) {
  Session session = runtime_.session(kLongRelu, "CPU");
  const Tensor x = session.allocate("x", {kCount});
  EXPECT_FALSE(is_shared(x));
  EXPECT_EQ(session.allocate("x", {5}).shape(), std::vector<int64_t>{5});
  test::expect_error(Code::kInvalidArgument, {"\"x\"", "open"},
                     [&] { static_cast<void>(session.allocate("x")); });
  test::expect_error(Code::kInvalidArgument, {"input \"x\"", "float32[n]", "float32[2,3]"}, [&] {
    static_cast<void>(session.allocate("x", {2, 3}));
  });
  test::expect_error(Code::kInvalidArgument, {"output \"y\"", "float32[2,3]"}, [&] {
    static_cast<void>(session.allocate("y", {2, 3}));
  });
  test::expect_error(Code::kInvalidArgument, {"input or output \"q\"", "\"x\"", "\"y\""},
                     [&] { static_cast<void>(session.allocate("q", {2})); });
}

// A worker that goes on writing to the indices that it made, and to those that it reads.
TEST_F(SharedTensors, IndicesStayAsTheyWereChecked) {
  json config = kMixed;
  config.update(IsolatedRuntime::mode("indices_change"));
  Session session = runtime_.session(
      "g (float[8,16] table, int64[k] i) => (float[k,16] y) { j = Relu(i) y = Gather(table, j) }",
      "", config);
  constexpr int64_t kIndices = 1 << 17;
  const Inputs inputs = {{"table", Tensor(DType::kFloat, {8, 16})},
                         {"i", Tensor({kIndices}, std::vector<int64_t>(kIndices, 7))}};
  for (int round = 0; round < 100; ++round) {
    try {
      EXPECT_EQ(session.run(inputs)[0].shape(), (std::vector<int64_t>{kIndices, 16}));
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), testing::HasSubstr("1099511627776"));
    }
  }
}

TEST_F(SharedTensors, IndicesOfTheCallerAreReadFromACopy) {
  Session session = runtime_.session(
      "g (float[8] table, int64[k] i, float[n] x) => (float[k] y, float[n] z) { y = Gather(table, "
      "i) "
      "z = Relu(x) }",
      "", kMixed);
  constexpr int64_t kIndices = 1 << 16;
  Tensor bytes = session.allocate_bytes(kIndices * sizeof(int64_t));
  ASSERT_TRUE(is_shared(bytes));
  Tensor indices = Tensor::borrow(DType::kInt64, {kIndices}, bytes.data(), bytes.size_bytes());
  EXPECT_FALSE(is_shared(session.allocate("i", {kIndices})));
  const Inputs inputs = {
      {"table", Tensor(DType::kFloat, {8})}, {"i", indices}, {"x", Tensor(DType::kFloat, {2})}};
  // Stands for the worker, which sees that memory, too.
  std::atomic<bool> is_over = false;
  std::thread worker([&, written = static_cast<int64_t*>(bytes.data())] {
    for (int64_t value = 0; !is_over; value = value == 0 ? int64_t{1} << 40 : 0) {
      volatile int64_t* numbers = written;
      for (int64_t i = 0; i < kIndices; ++i) numbers[i] = value;
    }
  });
  for (int round = 0; round < 100; ++round) {
    try {
      EXPECT_EQ(session.run(inputs)[0].shape(), std::vector<int64_t>{kIndices});
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), testing::HasSubstr("1099511627776"));
    }
  }
  is_over = true;
  worker.join();
}

}  // namespace
}  // namespace gantry
