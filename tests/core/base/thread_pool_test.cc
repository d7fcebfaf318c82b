// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <gtest/gtest.h>
#include <mutex>
#include <oneapi/tbb/task_arena.h>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace gantry {
namespace {

template <class Body>
void run(ThreadTeam& team, int64_t count, int64_t grain, Body body) {
  team.parallel_for(
      count, grain,
      [](void* arg, int64_t begin, int64_t end) { (*static_cast<Body*>(arg))(begin, end); }, &body);
}

template <class Body>
void run(uint32_t threads, int64_t count, int64_t grain, Body body) {
  ThreadTeam team(threads);
  team.execute([&] { run(team, count, grain, body); });
}

TEST(ThreadPool, EveryItemIsVisitedOnce) {
  for (const int64_t count : {0, 1, 2, 7, 64, 1001}) {
    for (const int64_t grain : {0, 1, 3, 1000, 5000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
      run(4, count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      for (const auto& visit : visits) ASSERT_EQ(visit, 1) << count << " items, grain " << grain;
    }
  }
}

TEST(ThreadPool, PartsAreNoSmallerThanTheGrain) {
  std::mutex mutex;
  std::vector<int64_t> sizes;
  run(8, 1000, 300, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    sizes.push_back(end - begin);
  });
  int64_t smaller = 0;
  for (const int64_t size : sizes) smaller += size < 300 ? 1 : 0;
  EXPECT_LE(smaller, 1) << "only the last part may be smaller";
}

TEST(ThreadPool, LongBodiesAreVisitedOnceAndBegunInOrder) {
  for (const int64_t count : {0, 1, 2, 5, 100}) {
    std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
    std::atomic<int64_t> most_missing = 0;
    for_each_on_own_threads(count, [&](int64_t i) {
      const auto missing = std::count(visits.begin(), visits.begin() + i, 0);
      most_missing = std::max<int64_t>(most_missing, missing);
      ++visits[static_cast<size_t>(i)];
    });
    for (const auto& visit : visits) ASSERT_EQ(visit, 1) << count;
    // Each other thread may be on its way to one.
    EXPECT_LT(most_missing, hardware_threads()) << count;
  }
}

TEST(ThreadPool, FewShortBodiesDoNotSetThePoolUp) {
  const auto leaves_it_alone = [] {
    bool is_unknown = false;
    std::thread([&] {
      for_each_on_own_threads(20, [](int64_t) {});
      is_unknown = oneapi::tbb::this_task_arena::current_thread_index() ==
                   oneapi::tbb::task_arena::not_initialized;
    }).join();
    return is_unknown;
  };
  // A busy machine may keep a thread waiting for longer than it may be alone.
  bool was_left_alone = false;
  for (int i = 0; i < 20 && !was_left_alone; ++i) was_left_alone = leaves_it_alone();
  EXPECT_TRUE(was_left_alone);
}

TEST(ThreadPool, LongBodiesAreShared) {
  if (hardware_threads() < 2) GTEST_SKIP() << "one core: nobody to share with";
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const auto body = [&](int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  };
  // A busy machine may be slow to wake a worker.
  for (int i = 0; i < 20 && threads.size() < 2; ++i) for_each_on_own_threads(20, body);
  EXPECT_GE(threads.size(), 2U);
}

TEST(ThreadPool, OneThreadStaysWithTheCaller) {
  run(1, 100, 1, [caller = std::this_thread::get_id()](int64_t begin, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(end - begin, 100);
  });
}

TEST(ThreadPool, NestedCallsRunInTheirCaller) {
  std::atomic<int64_t> sum = 0;
  run(2, 4, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      run(2, 10, 1, [&, caller = std::this_thread::get_id()](int64_t from, int64_t to) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        sum += to - from;
      });
    }
  });
  EXPECT_EQ(sum, 40);
}

TEST(ThreadPool, OutsideATeamTheCallerIsAlone) {
  ThreadTeam team(4);
  ThreadTeam other(4);
  const auto alone = [caller = std::this_thread::get_id()](int64_t begin, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(end - begin, 100);
  };
  run(team, 100, 1, alone);
  other.execute([&] { run(team, 100, 1, alone); });
}

TEST(ThreadPool, WhatARunThrowsArrives) {
  for (const uint32_t threads : {1U, 3U}) {
    ThreadTeam team(threads);
    EXPECT_THROW(team.execute([] { throw std::out_of_range("a run"); }), std::out_of_range);
    int64_t sum = 0;
    team.execute(
        [&] { run(team, 10, 10, [&](int64_t begin, int64_t end) { sum += end - begin; }); });
    EXPECT_EQ(sum, 10);
  }
}

TEST(ThreadPool, SeveralApplicationThreadsAtOnce) {
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        run(2, 100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 4 * 50 * 100);
}

// What the process computes while it sleeps, in milliseconds of a core. Workers that shared their
// cores with others have as long before to come to rest.
double idle_cost_ms(std::chrono::milliseconds pause) {
  const auto used_ms = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
  };
  std::this_thread::sleep_for(pause);
  const double before = used_ms();
  std::this_thread::sleep_for(pause);
  return used_ms() - before;
}

TEST(ThreadPool, WorkersComeToRest) {
  ThreadTeam team(4);
  for (int round = 0; round < 5; ++round) {
    team.execute([&] {
      for (int region = 0; region < 20; ++region) {
        run(team, 4, 1, [](int64_t, int64_t) {
          const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
          while (std::chrono::steady_clock::now() < end) {
          }
        });
      }
    });
    EXPECT_LT(idle_cost_ms(std::chrono::milliseconds(100)), 20) << "of three workers";
  }
}

}  // namespace
}  // namespace gantry
