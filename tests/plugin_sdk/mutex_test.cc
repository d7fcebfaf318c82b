// SPDX-License-Identifier: Apache-2.0
#include <gantry/sdk/mutex.h>

#include <chrono>
#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>

namespace gantry::sdk {
namespace {

using std::chrono::milliseconds;

// The analysis knows of no test that a mutex is free.
bool is_free(Mutex& mutex) GANTRY_NO_THREAD_SAFETY_ANALYSIS {
  bool is_free = false;
  std::thread([&]() GANTRY_NO_THREAD_SAFETY_ANALYSIS {
    is_free = mutex.try_lock();
    if (is_free) mutex.unlock();
  }).join();
  return is_free;
}

TEST(Mutex, LockHoldsToTheEndOfItsScope) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(Mutex, UnlockGivesTheMutexBackAndLocksItAgain) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    {
      const MutexUnlock unlock(mutex);
      EXPECT_TRUE(is_free(mutex));
    }
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(Mutex, UnlockLocksAgainWhereItsScopeEndsByAnException) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    try {
      const MutexUnlock unlock(mutex);
      throw std::runtime_error("in between");
    } catch (const std::runtime_error&) {
      EXPECT_FALSE(is_free(mutex));
    }
  }
  EXPECT_TRUE(is_free(mutex));
}

struct Counted {
  Mutex mutex;
  CondVar changed;
  int count GANTRY_GUARDED_BY(mutex) = 0;
};

TEST(Mutex, ManyThreadsCountEachTime) {
  Counted counted;
  const auto work = [&] {
    for (int i = 0; i < 10000; ++i) {
      const MutexLock lock(counted.mutex);
      ++counted.count;
    }
  };
  std::thread one(work);
  std::thread two(work);
  one.join();
  two.join();
  const MutexLock lock(counted.mutex);
  EXPECT_EQ(counted.count, 20000);
}

TEST(CondVar, WaitEndsWithANotificationAndHoldsTheMutex) {
  Counted counted;
  std::thread other([&] {
    const MutexLock lock(counted.mutex);
    counted.count = 1;
    counted.changed.notify_all();
  });
  {
    const MutexLock lock(counted.mutex);
    while (counted.count == 0) counted.changed.wait(counted.mutex);
    EXPECT_EQ(counted.count, 1);
    EXPECT_FALSE(is_free(counted.mutex));
  }
  other.join();
  EXPECT_TRUE(is_free(counted.mutex));
}

TEST(CondVar, TimedWaitsTellThatTheTimeHasPassedAndHoldTheMutex) {
  Counted counted;
  const MutexLock lock(counted.mutex);
  const auto end = std::chrono::steady_clock::now() + milliseconds(20);
  while (counted.changed.wait_until(counted.mutex, end)) {
  }
  EXPECT_GE(std::chrono::steady_clock::now(), end);
  while (counted.changed.wait_for(counted.mutex, milliseconds(1))) {
  }
  EXPECT_FALSE(is_free(counted.mutex));
}

}  // namespace
}  // namespace gantry::sdk
