// SPDX-License-Identifier: Apache-2.0
#include "onednn/background.h"

#include <gantry/sdk/mutex.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace gantry::x86 {

/// Requires Thread::mutex_ for `stage`.
struct BackgroundCompiler::Piece {
  enum class Stage { kWaiting, kAtWork, kDone, kDropped };
  Stage stage = Stage::kWaiting;
  std::function<void()> work;
};

/// The background thread. It ends when its queue is empty.
class BackgroundCompiler::Thread {
 public:
  // Never destroyed: sessions may end after it would be.
  static Thread& instance() {
    static auto& instance = *new Thread;
    return instance;
  }

  /// True if stop() will be called before statics are destroyed.
  [[nodiscard]] bool is_waited_for() const { return is_waited_for_; }
  void expect_stop() { is_waited_for_ = true; }

  void begin_compiling() {
    if (is_forked()) return;
    const sdk::MutexLock lock(mutex_);
    ++compiling_;
  }

  void end_compiling() {
    if (is_forked()) return;
    const sdk::MutexLock lock(mutex_);
    ++compiled_;
    if (--compiling_ > 0 || pieces_.empty() || is_stopped_ || is_working_) return;
    if (thread_.joinable()) thread_.join();  // it has ended, or is about to
    try {
      thread_ = std::thread([this] { work(); });
      is_working_ = true;
    } catch (const std::system_error&) {  // no thread available: runs compile themselves
      pieces_.clear();
    }
  }

  void add(const std::shared_ptr<Piece>& piece) {
    if (is_forked()) return;
    const sdk::MutexLock lock(mutex_);
    if (!is_stopped_) pieces_.push_back(piece);
  }

  bool settle(Piece& piece) {
    if (is_forked()) return piece.stage == Piece::Stage::kDone;
    const sdk::MutexLock lock(mutex_);
    if (piece.stage == Piece::Stage::kWaiting) piece.stage = Piece::Stage::kDropped;
    while (piece.stage == Piece::Stage::kAtWork) changed_.wait(mutex_);
    return piece.stage == Piece::Stage::kDone;
  }

  /// Holds the thread between two pieces, which a fork waits for: what is done is whole in the
  /// child, and the rest is left to its runs.
  void pause() {
    if (is_forked()) return;
    const sdk::MutexLock lock(mutex_);
    is_paused_ = true;
    while (is_at_work_) changed_.wait(mutex_);
  }
  void resume() {
    if (is_forked()) return;
    const sdk::MutexLock lock(mutex_);
    is_paused_ = false;
    changed_.notify_all();
  }

  void stop() {
    if (is_forked()) return;
    {
      const sdk::MutexLock lock(mutex_);
      is_stopped_ = true;
      pieces_.clear();
      changed_.notify_all();
    }
    end();
  }

  void end() {
    if (is_forked()) return;
    std::thread ended;
    {
      const sdk::MutexLock lock(mutex_);
      ended = std::move(thread_);
    }
    if (ended.joinable()) ended.join();
  }

 private:
  static constexpr std::chrono::milliseconds kMoment{1};

  Thread() {
    static_cast<void>(pthread_atfork([] { instance().pause(); }, [] { instance().resume(); }, {}));
  }

  // A forked child lacks the thread.
  [[nodiscard]] bool is_forked() const { return process_ != getpid(); }

  void work() {
    const sdk::MutexLock lock(mutex_);
    for (uint64_t seen = 0; !pieces_.empty();) {
      if (is_paused_) {
        changed_.wait(mutex_);
        continue;
      }
      if (compiling_ > 0 || seen != compiled_) {  // another claim may follow at once
        seen = compiled_;
        changed_.wait_for(mutex_, kMoment);
        continue;
      }
      // The last one first: a run that has started needs them from the first on.
      const std::shared_ptr<Piece> piece = std::move(pieces_.back());
      pieces_.pop_back();
      if (piece->stage != Piece::Stage::kWaiting) continue;
      piece->stage = Piece::Stage::kAtWork;
      Piece::Stage reached = Piece::Stage::kDropped;
      is_at_work_ = true;
      {
        const sdk::MutexUnlock unlock(mutex_);
        reached = attempt(*piece);
      }
      is_at_work_ = false;
      piece->stage = reached;
      changed_.notify_all();
    }
    is_working_ = false;
  }

  static Piece::Stage attempt(Piece& piece) {
    Piece::Stage reached = Piece::Stage::kDone;
    try {
      piece.work();
    } catch (const std::exception&) {
      reached = Piece::Stage::kDropped;
    }
    piece.work = nullptr;
    return reached;
  }

  const pid_t process_ = getpid();
  std::atomic<bool> is_waited_for_ = false;
  sdk::Mutex mutex_;
  sdk::CondVar changed_;
  std::vector<std::shared_ptr<Piece>> pieces_ GANTRY_GUARDED_BY(mutex_);
  int compiling_ GANTRY_GUARDED_BY(mutex_) = 0;
  uint64_t compiled_ GANTRY_GUARDED_BY(mutex_) = 0;
  bool is_working_ GANTRY_GUARDED_BY(mutex_) = false;
  bool is_at_work_ GANTRY_GUARDED_BY(mutex_) = false;  // on a piece
  bool is_paused_ GANTRY_GUARDED_BY(mutex_) = false;
  bool is_stopped_ GANTRY_GUARDED_BY(mutex_) = false;
  std::thread thread_ GANTRY_GUARDED_BY(mutex_);
};

Compiling::Compiling() { BackgroundCompiler::Thread::instance().begin_compiling(); }

Compiling::~Compiling() { BackgroundCompiler::Thread::instance().end_compiling(); }

BackgroundCompiler::~BackgroundCompiler() {
  if (piece_) static_cast<void>(settle());
}

void BackgroundCompiler::start(std::function<void()> work) {
  if (machine_threads() < 2 || !Thread::instance().is_waited_for()) return;
  piece_ = std::make_shared<Piece>();
  piece_->work = std::move(work);
  Thread::instance().add(piece_);
}

bool BackgroundCompiler::settle() const { return piece_ && Thread::instance().settle(*piece_); }

// exit() destroys thread_local objects of the calling thread first, then statics. A static object
// here would be too late: statics that the work initialised after it would be gone by then.
void BackgroundCompiler::end_with_this_thread() {
  struct AtEnd {
    AtEnd() { Thread::instance().expect_stop(); }
    ~AtEnd() { Thread::instance().stop(); }
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;
  };
  if (gettid() != getpid()) return;
  thread_local const AtEnd at_end;
  static_cast<void>(at_end);
}

void BackgroundCompiler::end_thread() { Thread::instance().end(); }

}  // namespace gantry::x86
