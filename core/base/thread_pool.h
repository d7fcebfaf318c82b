// SPDX-License-Identifier: Apache-2.0
// The one thread pool of the process: oneTBB's workers, shared by all sessions. A part that no
// worker has begun is run by whoever waits for it, so a busy machine slows a run down no more than
// its share. To wake a worker that sleeps costs its caller some 15 us and the worker as much again,
// so the workers of a run that shared work until its end stay awake for a moment after it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

namespace gantry {

/// Threads that the process may use: the cores in its affinity mask, or fewer where a control group
/// limits its CPU time. Found once. [any]
uint32_t hardware_threads() noexcept;

/// Calls body(i) once for each i in [0, count), on all cores that the process may use once they
/// have taken this thread a millisecond; they are begun in this order, and it returns when all are
/// done. For long bodies that hold locks and have loops of their own: a thread that waits in one
/// begins no other. Bodies must not throw. [any]
void for_each_apart(int64_t count, const std::function<void(int64_t)>& body);

/// The threads of one run at a time: the caller's and workers that the pool lends. The run enters
/// the team as a whole: a worker that has to go from one team to another misses the first tens of
/// microseconds there, so what a run calls (kernels, and the libraries in them that use oneTBB) is
/// to find it in the same one.
class ThreadTeam {
 public:
  /// `threads`: at least 1, the caller's among them.
  explicit ThreadTeam(uint32_t threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] uint32_t size() const { return threads_; }

  /// How long the workers that a run leaves awake spin for the next one. It ends when a run begins,
  /// and does not begin while there is another one in the process.
  static constexpr std::chrono::microseconds kAwake{200};

  /// Calls body() on this thread, inside the team; one caller at a time. What it throws arrives.
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
  std::unique_ptr<Arena> arena_;  // null: the caller is alone
};

}  // namespace gantry
