// SPDX-License-Identifier: Apache-2.0
// The thread pool of the process: oneTBB's workers, shared by all sessions. A waiting thread runs
// the parts that no worker has begun, so a run needs no worker to finish. To wake a blocked worker
// costs its caller some 15 us and the worker as much again, so workers that took part in a run to
// its end spin for a short time after it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

namespace gantry {

/// Number of threads that the process may use: the cores in its affinity mask, or fewer if a
/// control group limits its CPU time. Determined once. [any]
uint32_t hardware_threads() noexcept;

/// Calls body(i) once for each i in [0, count), begun in this order, and returns when all are done.
/// The first millisecond runs on this thread alone; then all cores that the process may use take
/// part. For long bodies that hold locks and have parallel loops of their own: a thread that waits
/// in one body begins no other. Bodies must not throw. [any]
void for_each_on_own_threads(int64_t count, const std::function<void(int64_t)>& body);

/// The threads of one run at a time: the caller and workers of the pool (a oneTBB task arena). The
/// whole run executes inside the team. A worker that moves from one arena to another loses some
/// tens of microseconds, so kernels, and libraries in them that use oneTBB, use the same arena.
class ThreadTeam {
 public:
  /// `threads`: at least 1, the caller included.
  explicit ThreadTeam(uint32_t threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] uint32_t size() const { return threads_; }

  /// Time that the workers of a run spin for the next run. The spin ends when a run begins, and
  /// does not start while another run goes on in the process.
  static constexpr std::chrono::microseconds kSpin{200};

  /// Calls body() on this thread, inside the team; one caller at a time. Passes on exceptions of
  /// body().
  template <class Body>
  void execute(Body&& body) {
    enter([](void* arg) { (*static_cast<std::remove_reference_t<Body>*>(arg))(); }, &body);
  }

  /// Calls body(arg, begin, end) on disjoint ranges that cover [0, count), each at least `grain`
  /// items but the last, on the team's threads; returns when all are done. Nested calls, and those
  /// from outside execute(), run in the caller. Bodies must not throw.
  void parallel_for(int64_t count, int64_t grain,
                    void (*body)(void* arg, int64_t begin, int64_t end), void* arg) noexcept;

 private:
  struct Arena;
  void enter(void (*body)(void* arg), void* arg);

  uint32_t threads_;
  std::unique_ptr<Arena> arena_;  // null: the caller is the only thread
};

}  // namespace gantry
