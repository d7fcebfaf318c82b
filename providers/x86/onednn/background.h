// SPDX-License-Identifier: Apache-2.0
// Background compilation of oneDNN primitives for the first run, on one thread of the process.
// oneDNN generates code when a primitive is created, which takes as long as some runs of a small
// model.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "onednn/threads.h"

namespace gantry::x86 {

/// Lives while a claim is compiled. Background work does not start meanwhile, so that compiling has
/// all cores. [any]
class Compiling {
 public:
  Compiling();
  ~Compiling();
  Compiling(const Compiling&) = delete;
  Compiling& operator=(const Compiling&) = delete;
};

/// One piece of background work. Declare it after all members that the work uses: the destructor
/// waits for it.
class BackgroundCompiler {
 public:
  BackgroundCompiler() = default;
  /// Drops the work if it has not started, else waits for its end.
  ~BackgroundCompiler();
  BackgroundCompiler(const BackgroundCompiler&) = delete;
  BackgroundCompiler& operator=(const BackgroundCompiler&) = delete;

  /// Queues `work`, to run when no claim is being compiled. Requires a live Compiling; call it
  /// once. Does nothing with one core, or before end_with_this_thread() took effect. An exception
  /// of `work` is dropped: the run that needs the result meets it again.
  void start(std::function<void()> work);

  /// Waits for work that has started and cancels work that has not. True: it is done; false: it
  /// never will be. [any]
  [[nodiscard]] bool settle() const;

  /// Called on threads that open sessions. On the process's main thread: makes its exit wait for
  /// the background thread, before oneDNN's statics, which code generation uses, are destroyed. No
  /// effect on other threads.
  static void end_with_this_thread();

  /// Waits until the background thread has ended. Requires that no work is queued.
  static void end_thread();

 private:
  friend class Compiling;
  struct Piece;
  class Thread;
  std::shared_ptr<Piece> piece_;
};

/// An object for the first run with a key, made in the background. Declare it after all members
/// that make() uses.
template <class Made>
class Prepared {
 public:
  using Key = std::vector<int64_t>;

  /// Calls make() in the background, in an arena of `threads` threads. As
  /// BackgroundCompiler::start.
  void start(Key key, int threads, std::function<Made()> make) {
    key_ = std::move(key);
    ahead_.start([this, threads, make = std::move(make)] {
      with_threads(threads, [&] { made_.emplace(make()); });
    });
  }

  /// The object for this key, once; nothing: the caller must make it. [any]
  [[nodiscard]] std::optional<Made> take(const Key& key) const {
    if (key != key_ || is_taken_.exchange(true) || !ahead_.settle()) return std::nullopt;
    return std::exchange(made_, std::nullopt);
  }

 private:
  Key key_;
  mutable std::atomic<bool> is_taken_ = false;
  mutable std::optional<Made> made_;
  BackgroundCompiler ahead_;  // last
};

}  // namespace gantry::x86
