// SPDX-License-Identifier: Apache-2.0
// A worker process: starts it, makes calls over channels, watches it and ends it. Each call uses a
// channel of its own, so calls may overlap. An ended process is not restarted: a new process is a
// new object. Any thread.
#pragma once

#include <gantry/error.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/fork.h"
#include "base/mutex.h"
#include "plugin/child_process.h"
#include "plugin/isolation/isolation.h"
#include "plugin/isolation/message_channel.h"
#include "plugin/isolation/spin_wait.h"
#include "plugin/isolation/worker_messages.h"

namespace gantry {

/// The process has ended before it answered.
class WorkerEnded : public Error {
 public:
  explicit WorkerEnded(const std::string& how) : Error(Code::kProviderCrashed, how) {}
};

class WorkerProcess {
 public:
  /// The limits of a call.
  struct Patience {
    int64_t timeout_ms = 0;  ///< 0: no limit
    /// largest answer; a worker that sends more is ended
    uint64_t most_answer_bytes = uint64_t{64} << 20;
    /// if set, polled: a code other than kOk stops the call. Without `stop_flag` that ends the
    /// process, once no other call is in it.
    std::function<Code()> should_stop;
    std::atomic<bool>* stop_flag = nullptr;  ///< in shared memory: set to tell the worker to stop
    int64_t grace_ms = 0;                    ///< time from then until the process is ended
    std::chrono::microseconds spin{0};       ///< time to spin for the answer (SpinWait)
  };

  /// Starts the program. UNAVAILABLE: it does not exist or cannot be started.
  static std::shared_ptr<WorkerProcess> start(const std::string& provider,
                                              const IsolationSettings& settings);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Sends a request, waits for the answer and returns its struct. Errors: the worker's error;
  /// WorkerEnded; if this call ends the process: PROVIDER_CRASHED for a malformed answer,
  /// DEADLINE_EXCEEDED, or the code of should_stop.
  std::vector<std::byte> call(const MessageWriter& request, const std::vector<int>& descriptors,
                              const Patience& patience);

  /// Ends the process and throws `code`. `why`: what it did, "it sent an answer of 3 bytes".
  [[noreturn]] void end_for(const std::string& why, Code code);
  [[nodiscard]] bool has_ended() const { return has_ended_.load(); }
  /// True if this side ended the process, for a call that did not return or a malformed answer.
  [[nodiscard]] bool was_ended() const {
    const MutexLock lock(mutex_);
    return !why_ended_.empty();
  }
  /// "was ended by signal 11 (Segmentation fault)". Requires has_ended().
  [[nodiscard]] std::string how_it_ended() const;
  [[nodiscard]] pid_t id() const { return child_.id(); }
  /// Waits at most that long for the process to exit, then ends it.
  void finish(int64_t timeout_ms) noexcept;

  /// Whether the worker has a segment of constants.
  bool has_segment(uint64_t id) const;
  void note_segments(const std::vector<WorkerAsk::Segment>& segments);

 private:
  struct Channel {
    MessageChannel ends;
    SpinWait spin;  // spins for its answers
    int core = -1;  // CPU that sent the last answer
  };
  class Lease;
  WorkerProcess() = default;
  Channel take_channel();
  void give_channel(Channel channel) noexcept;
  Code receive_answer(Channel& channel, uint64_t call, const Patience& patience,
                      ReceivedMessage& answer);
  void check_answer(uint64_t call, Receipt receipt, const ReceivedMessage& answer);
  [[nodiscard]] bool is_gone() const;
  [[noreturn]] void fail_ended(const char* why);
  void reap(std::string_view why);

  Descriptor boot_;  // new channels are sent over it; closing it ends the worker
  ChildWatch child_;
  ProcessBound process_;
  std::atomic<bool> has_ended_ = false;
  std::atomic<int> calls_ = 0;  // number of calls that wait for an answer
  std::atomic<uint64_t> last_call_ = 0;
  mutable Mutex mutex_;
  std::vector<Channel> channels_ GANTRY_GUARDED_BY(mutex_);
  std::set<uint64_t> segments_ GANTRY_GUARDED_BY(mutex_);
  siginfo_t how_ GANTRY_GUARDED_BY(mutex_) = {};
  bool is_reaped_ GANTRY_GUARDED_BY(mutex_) = false;
  std::string why_ended_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry
