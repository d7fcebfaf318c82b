// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/worker_process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/fork.h"
#include "plugin/child_process.h"

namespace gantry {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{5};  // between questions whether a call shall go on

int64_t whole_milliseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
}

[[noreturn]] void fail(const std::string& provider, const std::string& what, int reason) {
  const bool is_short_of =
      reason == ENOMEM || reason == EAGAIN || reason == EMFILE || reason == ENFILE;
  throw Error(is_short_of ? Code::kOutOfMemory : Code::kUnavailable,
              "provider \"" + provider + "\": it is to run in a process of its own, and " + what +
                  ": " + std::generic_category().message(reason) +
                  "; it is not opened in this process instead");
}

}  // namespace

// A channel for the length of a call. One that a call has failed on is not used again: an answer
// may still be on its way.
class WorkerProcess::Lease {
 public:
  explicit Lease(WorkerProcess& process) : process_(process), channel_(process.take_channel()) {
    ++process_.calls_;
  }
  ~Lease() {
    --process_.calls_;
    if (is_good) process_.give_channel(std::move(channel_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Channel& operator*() { return channel_; }
  Channel* operator->() { return &channel_; }
  bool is_good = false;

 private:
  WorkerProcess& process_;
  Channel channel_;
};

std::shared_ptr<WorkerProcess> WorkerProcess::start(const std::string& provider,
                                                    const IsolationSettings& settings) {
  if (settings.worker.empty() || access(settings.worker.c_str(), X_OK) != 0) {
    fail(provider,
         "its program " + (settings.worker.empty() ? "gantry-worker" : settings.worker) +
             " is not there",
         settings.worker.empty() ? ENOENT : errno);
  }
  auto [ours, theirs] = make_message_sockets();
  // Above the number that it gets there: a duplicate onto itself would be closed at the start.
  const Descriptor high(fcntl(theirs.get(), F_DUPFD_CLOEXEC, 10));
  if (high.get() < 0) fail(provider, "there is no descriptor for it", errno);
  pid_t child = -1;
  // With the provider's name as its argument, so that ps shows whose it is.
  const int status = start_child(settings.worker, {provider},
                                 {kNullDevice, kNullDevice, kInherited, high.get()}, &child);
  if (status != 0) fail(provider, "its program " + settings.worker + " cannot be started", status);
  // Only now: its destructor ends the process that it has.
  std::shared_ptr<WorkerProcess> process(new WorkerProcess);
  process->boot_ = std::move(ours);
  process->child_ = ChildWatch(child);
  if (process->child_.error() != 0)
    fail(provider, "its end could not be watched", process->child_.error());
  return process;
}

WorkerProcess::~WorkerProcess() { reap(true); }

WorkerProcess::Channel WorkerProcess::take_channel() {
  const MutexLock lock(mutex_);
  if (!channels_.empty()) {
    Channel channel = std::move(channels_.back());
    channels_.pop_back();
    return channel;
  }
  auto [ours, theirs] = make_message_channels();
  // If it is gone, the channel is closed and says so.
  send_message(boot_.get(), {}, theirs.numbers());
  return {std::move(ours), {}};
}

void WorkerProcess::give_channel(Channel channel) noexcept {
  try {
    const MutexLock lock(mutex_);
    channels_.push_back(std::move(channel));
  } catch (const std::bad_alloc&) {  // it is closed, and the next call makes another
  }
}

std::vector<std::byte> WorkerProcess::call(const MessageWriter& request,
                                           const std::vector<int>& descriptors,
                                           const Patience& patience) {
  Lease channel(*this);
  if (!send_message(channel->ends, request.bytes(), descriptors)) {
    reap(true);
    throw WorkerEnded(how_it_ended());
  }
  ReceivedMessage answer;
  const Code stop = receive_answer(*channel, patience, answer);
  channel->core = answer.core;
  MessageReader reader(answer.bytes);
  const auto code = static_cast<Code>(reader.get<uint32_t>());
  channel.is_good = true;
  if (code != Code::kOk) {
    const bool is_spent = reader.get<uint8_t>() != 0;
    std::string text = reader.text();
    // The worker knows that it was stopped, and not for what.
    const bool was_stopped = code == Code::kCancelled && stop != Code::kOk;
    if (is_spent) end_for(text, was_stopped ? stop : code);
    throw Error(was_stopped ? stop : code, std::move(text));
  }
  answer.bytes.erase(answer.bytes.begin(), answer.bytes.begin() + sizeof(uint32_t));
  return std::move(answer.bytes);
}

// What the call was stopped with, if it was and answered all the same.
Code WorkerProcess::receive_answer(Channel& channel, const Patience& patience,
                                   ReceivedMessage& answer) {
  const Clock::time_point start = Clock::now();
  std::optional<Clock::time_point> stopped;
  Code stop = Code::kOk;
  bool is_last = false;
  channel.awake.wait(channel.ends.in.get(), patience.awake, channel.core);
  for (;;) {
    const Receipt receipt =
        receive_message(channel.ends, answer, kTick, patience.most_answer_bytes);
    if (receipt == Receipt::kMessage) return stop;
    if (receipt == Receipt::kTooLarge) {
      end_for("it sent an answer of more than " + std::to_string(patience.most_answer_bytes) +
                  " bytes, the most that is taken for this call",
              Code::kProviderCrashed);
    }
    // A closed channel is the end of the process, or of what can be made of it.
    if (receipt == Receipt::kEnded || is_last) {
      reap(true);
      throw WorkerEnded(how_it_ended());
    }
    // A process that the provider started may keep the channel open. An answer that was sent before
    // the end is there to be read.
    is_last = is_gone();
    if (!stopped) {
      const bool is_alone = patience.stop_flag || calls_ == 1;
      if (patience.should_stop && is_alone) stop = patience.should_stop();
      if (stop == Code::kOk && patience.timeout_ms > 0 &&
          whole_milliseconds_since(start) >= patience.timeout_ms)
        stop = Code::kDeadlineExceeded;
      if (stop == Code::kOk) continue;
      stopped = Clock::now();
      if (patience.stop_flag) patience.stop_flag->store(true);
    }
    if (patience.stop_flag && whole_milliseconds_since(*stopped) < patience.grace_ms) continue;
    std::string why =
        "a call did not end within " + std::to_string(whole_milliseconds_since(start)) + " ms";
    if (patience.stop_flag && patience.grace_ms > 0) {
      why +=
          ", the last " + std::to_string(patience.grace_ms) + " of them after it was told to stop";
    }
    end_for(why, stop);
  }
}

bool WorkerProcess::is_gone() const { return child_.has_ended(); }

void WorkerProcess::end_for(const std::string& why, Code code) {
  {
    const MutexLock lock(mutex_);
    if (why_ended_.empty() && !is_reaped_) why_ended_ = why;
  }
  reap(true);
  throw Error(code, why + ", and its process was ended");
}

// Waits for the end, which is near; with `is_killed` it is brought about.
void WorkerProcess::reap(bool is_killed) {
  // In a forked child of the application: the worker is the parent's, which goes on using it.
  if (is_forked()) {
    has_ended_.store(true);
    return;
  }
  const MutexLock lock(mutex_);
  if (is_reaped_) return;
  // A moment for one that is ending by itself, whose signal is of interest: its sockets close
  // first.
  constexpr int kMomentMs = 50;
  if (is_killed && why_ended_.empty()) static_cast<void>(child_.has_ended(kMomentMs));
  if (is_killed) child_.end();
  how_ = child_.wait();
  is_reaped_ = true;
  has_ended_.store(true);
}

void WorkerProcess::finish(int64_t timeout_ms) noexcept {
  boot_.reset();
  if (!has_ended() && !is_forked())
    static_cast<void>(child_.has_ended(static_cast<int>(timeout_ms)));
  reap(true);
}

std::string WorkerProcess::how_it_ended() const {
  const MutexLock lock(mutex_);
  if (!why_ended_.empty()) return "was ended because " + why_ended_;
  if (how_.si_signo != SIGCHLD) return "ended in a way that the system did not tell";
  if (how_.si_code == CLD_EXITED)
    return "ended by itself with status " + std::to_string(how_.si_status);
  const char* name = strsignal(how_.si_status);
  return "was ended by signal " + std::to_string(how_.si_status) + " (" +
         (name ? name : "unknown") + ")";
}

bool WorkerProcess::has_segment(uint64_t id) const {
  const MutexLock lock(mutex_);
  return segments_.contains(id);
}

void WorkerProcess::note_segments(const std::vector<WorkerAsk::Segment>& segments) {
  const MutexLock lock(mutex_);
  for (const WorkerAsk::Segment& segment : segments) segments_.insert(segment.id);
}

}  // namespace gantry
