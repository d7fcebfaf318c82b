// SPDX-License-Identifier: Apache-2.0
// Work of the first run that is done before it, by a thread that nobody waits for: the library
// generates code when a primitive is made, which takes as long as some runs of a small model.
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

/// While one lives, a claim is compiled, and no work that was left is begun: compiling has all
/// cores. [any]
class Compiling {
 public:
  Compiling();
  ~Compiling();
  Compiling(const Compiling&) = delete;
  Compiling& operator=(const Compiling&) = delete;
};

/// One piece of work. Last among the members of whatever it uses: it ends with this.
class BackgroundCompiler {
 public:
  BackgroundCompiler() = default;
  /// Drops the work if it has not begun, else waits for its end.
  ~BackgroundCompiler();
  BackgroundCompiler(const BackgroundCompiler&) = delete;
  BackgroundCompiler& operator=(const BackgroundCompiler&) = delete;

  /// Once, while a claim is compiled: has the work done after it. Nothing happens where there is
  /// one core only, or before end_with_this_thread(). What the work throws is dropped: the run that
  /// needs the same meets it again.
  void start(std::function<void()> work);

  /// For whoever needs it now. True: it has been done. False: it has not and will not be. [any]
  [[nodiscard]] bool settle() const;

  /// For threads that open sessions. Has no effect but on the process's first one, whose end will
  /// wait for the work: what the library sets up while it generates code is destroyed right after.
  static void end_with_this_thread();

  /// Returns when the thread has ended. Requires that no work is left.
  static void end_thread();

 private:
  friend class Compiling;
  struct Piece;
  class Thread;
  std::shared_ptr<Piece> piece_;
};

/// What the first run with a key would make, made ahead. Last among the members of its maker.
template <class Made>
class Prepared {
 public:
  using Key = std::vector<int64_t>;

  /// Once, while a claim is compiled: has make() called later, where the library sees `threads`
  /// threads.
  void start(Key key, int threads, std::function<Made()> make) {
    key_ = std::move(key);
    ahead_.start([this, threads, make = std::move(make)] {
      with_threads(threads, [&] { made_.emplace(make()); });
    });
  }

  /// What was made for this key, for the first who asks; nothing: it is to be made now. [any]
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
