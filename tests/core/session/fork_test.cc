// SPDX-License-Identifier: Apache-2.0
// Forked children of a process with sessions: they run models if nothing went on in their parent,
// are told so otherwise, and wait for no lock of a thread that they do not have.
#include <gantry/gantry.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "model_text.h"
#include "plugin/packed.h"

namespace gantry {
namespace {

/// Packed data are looked for under the lock of their table.
class SlowLedger final : public PackedLedger {
 public:
  std::shared_ptr<const void> find(const PackedKey&, uint64_t) override {
    is_asked.set_value();
    may_answer.get_future().wait();
    return nullptr;
  }
  void note(const PackedBlock&) override {}

  std::promise<void> is_asked;
  std::promise<void> may_answer;
};

std::string product(int size) {
  std::string weights;
  for (int i = 0; i < size * size; ++i) weights += (i > 0 ? ", " : "") + std::to_string(i % 5);
  const std::string extents = "float[" + std::to_string(size) + ", " + std::to_string(size) + "]";
  return test::model_bytes("g (" + extents + " x) => (" + extents + " y) <" + extents + " w = {" +
                           weights + "}> { y = MatMul(x, w) }");
}

std::vector<float> run(Session& session, int size) {
  Tensor x(DType::kFloat, {size, size});
  for (float& element : x.elements<float>()) element = 1;
  const auto y = session.run({{"x", x}})[0];
  return {y.elements<float>().begin(), y.elements<float>().end()};
}

// Ends the child with the status that `body` returns; a child that hangs is ended.
template <class Body>
int status_of_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(Fork, AChildRunsSessionsOfItsParentAndItsOwn) {
  constexpr int kSize = 96;
  const std::string bytes = product(kSize);
  Runtime runtime;
  SessionOptions options;
  options.config_json = R"({"session": {"threads": 4}})";
  std::optional<Session> session(std::in_place, runtime, ModelSource(test::as_bytes(bytes), {}),
                                 options);
  const std::vector<float> expected = run(*session, kSize);
  static_cast<void>(session->run_async({{"x", Tensor(DType::kFloat, {kSize, kSize})}}).get());
  for (int round = 0; round < 40; ++round) {
    ASSERT_EQ(run(*session, kSize), expected);  // the pool's workers still spin
    const int status = status_of_child([&] {
      if (run(*session, kSize) != expected) return 1;
      Session own(runtime, ModelSource(test::as_bytes(bytes), {}), options);
      if (run(own, kSize) != expected) return 2;
      if (own.run_async({{"x", Tensor(DType::kFloat, {kSize, kSize})}}).get().size() != 1) return 3;
      if (session->run_async({{"x", Tensor(DType::kFloat, {kSize, kSize})}}).get().size() != 1)
        return 4;
      session.reset();
      return 0;
    });
    ASSERT_EQ(status, 0) << "round " << round;
  }
  EXPECT_EQ(run(*session, kSize), expected);
}

TEST(Fork, AChildOfAChildRunsThem) {
  const std::string bytes = product(8);
  Runtime runtime;
  Session session(runtime, ModelSource(test::as_bytes(bytes), {}));
  const std::vector<float> expected = run(session, 8);
  EXPECT_EQ(status_of_child([&] {
              return status_of_child([&] { return run(session, 8) == expected ? 0 : 1; }) == 0 ? 0
                                                                                               : 2;
            }),
            0);
}

TEST(Fork, ThreadsThatForkAtOnceWaitForEachOtherAlone) {
  const std::string bytes = product(8);
  Runtime runtime;
  Session session(runtime, ModelSource(test::as_bytes(bytes), {}));
  const std::vector<float> expected = run(session, 8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        EXPECT_EQ(status_of_child([&] {
                    try {
                      return run(session, 8) == expected ? 0 : 1;
                    } catch (const Error& error) {  // another thread was at work at the fork
                      return error.code() == Code::kUnavailable ? 0 : 2;
                    }
                  }),
                  0);
        EXPECT_EQ(run(session, 8), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Fork, AChildThatIsForkedDuringARunIsTold) {
  const std::string bytes = test::model_bytes(
      "g (int64 n, bool go, float[64, 64] x) => (float[64, 64] y) { y = Loop (n, go, x) <body = b "
      "(int64 i, bool c, float[64, 64] h) => (bool c, float[64, 64] next) { next = MatMul(h, h) }> "
      "}");
  Runtime runtime;
  Session session(runtime, ModelSource(test::as_bytes(bytes), {}));
  std::atomic<bool> is_over = false;
  Tensor go(DType::kBool, {});
  *static_cast<bool*>(go.data()) = true;
  const Inputs inputs = {{"n", Tensor(std::vector<int64_t>{}, std::vector<int64_t>{1 << 30})},
                         {"go", go},
                         {"x", Tensor(DType::kFloat, {64, 64})}};
  std::thread other(
      [&] { EXPECT_THROW(session.run(inputs, {.cancel = &is_over, .timeout_ns = {}}), Error); });
  while (session.memory().arena + session.memory().pool == 0) std::this_thread::yield();
  const int status = status_of_child([&] {
    try {
      static_cast<void>(session.run(inputs, {.cancel = nullptr, .timeout_ns = 1}));
    } catch (const Error& error) {
      return error.code() == Code::kUnavailable &&
                     error.message().find("forked") != std::string::npos
                 ? 0
                 : 1;
    }
    return 2;
  });
  is_over = true;
  other.join();
  EXPECT_EQ(status, 0);
}

TEST(Fork, AChildDropsASessionWhileAThreadOfTheParentHoldsTheTableOfPackedWeights) {
  const std::string bytes = product(64);
  Runtime runtime;
  std::optional<Session> session(std::in_place, runtime, ModelSource(test::as_bytes(bytes), {}));
  if (packed_bytes() == 0) GTEST_SKIP() << "no provider here packs the weights of a MatMul";
  SlowLedger ledger;
  std::thread other([&] {
    const PackedScope scope(&ledger);
    const uint8_t key[32] = {77};
    release_packed(acquire_packed(
        key, 16, [](void*, void*) {}, nullptr));
  });
  ledger.is_asked.get_future().wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends the child if it waits for the lock
    session.reset();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  ledger.may_answer.set_value();
  other.join();
  EXPECT_EQ(status, 0) << "the child was ended by signal " << WTERMSIG(status);
}

}  // namespace
}  // namespace gantry
