// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/worker_process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "plugin/child_process.h"
#include "plugin/isolation/worker_environment.h"

namespace gantry {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{5};  // between checks of a call's limits

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

// The head of an answer.
struct AnswerHead {
  Code code = Code::kOk;
  bool is_spent = false;  // a device of the process cannot be used any more
  std::string text;
};

AnswerHead read_head(std::span<const std::byte> answer) {
  MessageReader reader(answer);
  const auto number = reader.get<uint32_t>();
  if (number > static_cast<uint32_t>(Code::kInternal))
    throw Error(Code::kInternal, "its code is " + std::to_string(number) + ", which is none");
  AnswerHead head;
  head.code = static_cast<Code>(number);
  if (head.code == Code::kOk) return head;
  head.is_spent = reader.get<uint8_t>() != 0;
  head.text = reader.text();
  return head;
}

}  // namespace

// Holds a channel during a call. A channel on which a call has failed is not used again: its answer
// may still come.
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
  // Above its number in the child: a descriptor duplicated onto itself would be closed at the
  // start.
  const Descriptor high(fcntl(theirs.get(), F_DUPFD_CLOEXEC, 10));
  if (high.get() < 0) fail(provider, "there is no descriptor for it", errno);
  pid_t child = -1;
  const auto takes = [&settings](std::string_view variable) {
    return !settings.is_sandboxed || is_for_sandbox(variable, settings.environment);
  };
  // The provider's name is an argument, so that ps shows it.
  const int status = start_child(settings.worker, {provider},
                                 {kNullDevice, kNullDevice, kInherited, high.get()}, &child, takes);
  if (status != 0) fail(provider, "its program " + settings.worker + " cannot be started", status);
  // Made only now, because its destructor ends its process.
  std::shared_ptr<WorkerProcess> process(new WorkerProcess);
  process->boot_ = std::move(ours);
  process->child_ = ChildWatch(child);
  return process;
}

WorkerProcess::~WorkerProcess() { reap({}); }

WorkerProcess::Channel WorkerProcess::take_channel() {
  const MutexLock lock(mutex_);
  if (!channels_.empty()) {
    Channel channel = std::move(channels_.back());
    channels_.pop_back();
    return channel;
  }
  auto [ours, theirs] = make_message_channels();
  // If the worker has ended, the channel is closed and reports it. A busy worker gets some time.
  constexpr int kMomentMs = 1000;
  pollfd wait = {boot_.get(), POLLOUT, 0};
  if (!send_message(boot_.get(), {}, theirs.numbers()) && poll(&wait, 1, kMomentMs) >= 0)
    send_message(boot_.get(), {}, theirs.numbers());
  return {std::move(ours), {}};
}

void WorkerProcess::give_channel(Channel channel) noexcept {
  try {
    const MutexLock lock(mutex_);
    channels_.push_back(std::move(channel));
  } catch (const std::bad_alloc&) {  // the channel is closed; the next call makes another
  }
}

std::vector<std::byte> WorkerProcess::call(const MessageWriter& request,
                                           const std::vector<int>& descriptors,
                                           const Patience& patience) {
  Lease channel(*this);
  const uint64_t number = ++last_call_;
  if (!send_message(channel->ends, number, request.bytes(), descriptors))
    fail_ended("nothing more could be sent to it, as where it reads nothing");
  ReceivedMessage answer;
  const Code stop = receive_answer(*channel, number, patience, answer);
  channel->core = answer.core;
  AnswerHead head;
  try {
    head = read_head(answer.bytes);
  } catch (const Error& fault) {
    end_for("it sent a malformed answer: " + fault.message(), Code::kProviderCrashed);
  }
  channel.is_good = true;
  if (head.code != Code::kOk) {
    // The worker knows that the run was stopped, but not by what.
    const bool was_stopped = head.code == Code::kCancelled && stop != Code::kOk;
    const Code code = was_stopped ? stop : head.code;
    if (head.is_spent) end_for(head.text, code);
    throw Error(code, std::move(head.text));
  }
  answer.bytes.erase(answer.bytes.begin(), answer.bytes.begin() + sizeof(uint32_t));
  return std::move(answer.bytes);
}

// Ends the process if the message is not an answer to this call.
void WorkerProcess::check_answer(uint64_t call, Receipt receipt, const ReceivedMessage& answer) {
  std::string fault = answer.fault;
  if (receipt == Receipt::kMessage && answer.call == call) return;
  if (receipt == Receipt::kMessage) {
    fault = "to call " + std::to_string(answer.call) + " where that to call " +
            std::to_string(call) + " was expected";
  }
  end_for("it sent an answer " + fault, Code::kProviderCrashed);
}

// Waits for the answer. Returns the code with which the call was stopped, if it was and yet
// answered; else kOk.
Code WorkerProcess::receive_answer(Channel& channel, uint64_t call, const Patience& patience,
                                   ReceivedMessage& answer) {
  const Clock::time_point start = Clock::now();
  std::optional<Clock::time_point> stopped;
  Code stop = Code::kOk;
  bool is_last = false;
  channel.spin.wait(channel.ends.in.get(), patience.spin, channel.core);
  for (;;) {
    const Receipt receipt =
        receive_message(channel.ends, answer, kTick, patience.most_answer_bytes);
    if (receipt == Receipt::kMessage || receipt == Receipt::kMalformed) {
      check_answer(call, receipt, answer);
      return stop;
    }
    // If the channel is closed, the process has ended or cannot be used any more.
    if (receipt == Receipt::kEnded || is_last) fail_ended("it closed its channel in a call");
    // A process that the provider started may hold the channel open after the worker has ended. An
    // answer sent before the end can still be read.
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
        is_unread(channel.ends) ? "it did not read a call within " : "a call did not end within ";
    why += std::to_string(whole_milliseconds_since(start)) + " ms";
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
  reap(why);
  throw Error(code, why + ", and its process was ended");
}

void WorkerProcess::fail_ended(const char* why) {
  reap(why);
  throw WorkerEnded(how_it_ended());
}

// Waits for the end of the process, and ends it if it does not end by itself. `why`: the reason,
// for how_it_ended(); may be empty.
void WorkerProcess::reap(std::string_view why) {
  // In a forked child of the application the worker belongs to the parent, which still uses it.
  if (process_.is_elsewhere()) {
    has_ended_.store(true);
    return;
  }
  const MutexLock lock(mutex_);
  if (is_reaped_) return;
  // Waits a moment for a process that is ending by itself, to report its signal: its sockets close
  // before it has ended.
  constexpr int kMomentMs = 50;
  const bool is_ending = why_ended_.empty() && child_.has_ended(kMomentMs);
  child_.end();
  how_ = child_.wait();
  is_reaped_ = true;
  has_ended_.store(true);
  // If it ended by itself meanwhile, its own status is reported.
  const bool was_killed = how_.si_code == CLD_KILLED && how_.si_status == SIGKILL;
  if (why_ended_.empty() && !is_ending && was_killed) why_ended_ = why;
}

void WorkerProcess::finish(int64_t timeout_ms) noexcept {
  boot_.reset();
  if (!has_ended() && !process_.is_elsewhere())
    static_cast<void>(child_.has_ended(static_cast<int>(timeout_ms)));
  reap({});
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
