// SPDX-License-Identifier: Apache-2.0
// A forked child drops the sessions of its parent while a thread, which the child has not, held a
// lock of the process.
#include <gantry/gantry.h>

#include <cstdint>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

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

TEST(Fork, AChildDropsASessionWhileAThreadOfTheParentHoldsTheTableOfPackedWeights) {
  std::string weights;
  for (int i = 0; i < 64 * 64; ++i) weights += (i > 0 ? ", " : "") + std::to_string(i % 5);
  const std::string bytes =
      test::model_bytes("g (float[1, 64] x) => (float[1, 64] y) <float[64, 64] w = {" + weights +
                        "}> { y = MatMul(x, w) }");
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
