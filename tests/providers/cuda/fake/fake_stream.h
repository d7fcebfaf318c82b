// SPDX-License-Identifier: Apache-2.0
// Streams of the fake driver, each with a thread, and which calls a capture allows.
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

// State of the calling thread: its context, and its capturing stream.
inline thread_local void* current_context = nullptr;
inline thread_local Stream* recording_stream = nullptr;

struct Stream {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Work> queue;
  bool is_busy = false;
  bool is_ending = false;
  std::unique_ptr<std::vector<Work>> recording;
  bool has_failed = false;          // the capture was invalidated by a call that is not allowed
  bool has_recorded_early = false;  // a programmatic dependent launch was captured
  bool is_behind_kernel = false;    // the last enqueued work is a kernel
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

// Requires that no other thread destroys a stream.
inline void wait_for_all_streams() {
  std::set<Stream*> streams;
  {
    const std::lock_guard<std::mutex> lock(world().mutex);
    streams = world().streams;
  }
  for (Stream* stream : streams) stream->wait();
}

// Check of functions that require a context.
inline int enter_context(const char* name) {
  const int entered = enter(name);
  return entered == kOk && !current_context ? int{kNoContext} : entered;
}
#define ENTER_CONTEXT(name) \
  if (const int entered = enter_context(name); entered != kOk) return entered

// Check of functions that are not allowed during a capture of the thread.
inline int enter_unrecorded(const char* name) {
  if (!recording_stream) return enter_context(name);
  recording_stream->has_failed = true;
  return kCaptureUnsupported;
}
#define ENTER_UNRECORDED(name) \
  if (const int entered = enter_unrecorded(name); entered != kOk) return entered

}  // namespace gantry::test
