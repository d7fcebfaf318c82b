// SPDX-License-Identifier: Apache-2.0
// Streams of the stand-in for the driver, which are threads, and what a thread may do while one of
// its streams records.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "fake_world.h"

namespace gantry::test {

using Work = std::function<void()>;

// Of the calling thread: its context, and the stream that it lets record.
inline thread_local void* current_context = nullptr;
inline thread_local Stream* recording_stream = nullptr;

struct Stream {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Work> queue;
  bool is_busy = false;
  bool is_ending = false;
  std::unique_ptr<std::vector<Work>> recording;
  bool is_spoilt = false;           // what it records, by a call that a recording does not bear
  bool has_recorded_early = false;  // a kernel that may begin before the one before has ended
  bool is_behind_kernel = false;    // what it was given last is a kernel
  std::thread thread{[this] { serve(); }};

  ~Stream() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      is_ending = true;
    }
    changed.notify_all();
    thread.join();
  }
  int give(Work work) {
    const std::lock_guard<std::mutex> lock(mutex);
    is_behind_kernel = false;
    if (recording) {
      recording->push_back(std::move(work));
    } else {
      queue.push_back(std::move(work));
      changed.notify_all();
    }
    return kOk;
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return queue.empty() && !is_busy; });
  }
  void serve() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return is_ending || !queue.empty(); });
      if (queue.empty()) return;
      const Work work = std::move(queue.front());
      queue.pop_front();
      is_busy = true;
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(world().settings.latency_us));
      work();
      lock.lock();
      is_busy = false;
      changed.notify_all();
    }
  }
};

inline Stream* of(void* stream) { return static_cast<Stream*>(stream); }

// While no other thread destroys one.
inline void wait_for_all_streams() {
  std::set<Stream*> streams;
  {
    const std::lock_guard<std::mutex> lock(world().mutex);
    streams = world().streams;
  }
  for (Stream* stream : streams) stream->wait();
}

// Of functions that work in a context.
inline int enter_context(const char* name) {
  const int entered = enter(name);
  return entered == kOk && !current_context ? int{kNoContext} : entered;
}
#define ENTER_CONTEXT(name) \
  if (const int entered = enter_context(name); entered != kOk) return entered

// Of those that a thread may not call while a stream of its records.
inline int enter_unrecorded(const char* name) {
  if (!recording_stream) return enter_context(name);
  recording_stream->is_spoilt = true;
  return kCaptureUnsupported;
}
#define ENTER_UNRECORDED(name) \
  if (const int entered = enter_unrecorded(name); entered != kOk) return entered

}  // namespace gantry::test
