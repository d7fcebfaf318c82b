// SPDX-License-Identifier: Apache-2.0
// What the stand-in for the driver is made of: the machine that the environment describes, and
// streams that are threads. Any thread.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "fake_driver.h"

namespace gantry::test {

using Work = std::function<void()>;

enum Result {
  kOk = 0,
  kInvalid = 1,
  kNoMemory = 2,
  kEnded = 4,
  kNoDevice = 100,
  kBadImage = 200,
  kNoContext = 201,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901
};

struct Settings {
  int devices = 2;
  int version = 13000;
  int capability = 90;
  uint64_t memory = uint64_t{256} << 20;
  int latency_us = 50;
  std::string failing;
  int failing_number = 0;
  int lost = 0;
  int pools = 1;
  int peers = 1;

  static Settings read() {
    Settings settings;
    const char* text = std::getenv("GANTRY_FAKE_CUDA");
    std::istringstream words(text ? text : "");
    for (std::string word; words >> word;) {
      const std::string name = word.substr(0, word.find('='));
      const std::string value = word.substr(word.find('=') + 1);
      if (name == "devices") settings.devices = std::stoi(value);
      if (name == "version") settings.version = std::stoi(value);
      if (name == "capability") settings.capability = std::stoi(value);
      if (name == "memory") settings.memory = std::stoull(value);
      if (name == "latency_us") settings.latency_us = std::stoi(value);
      if (name == "lost") settings.lost = std::stoi(value);
      if (name == "pools") settings.pools = std::stoi(value);
      if (name == "peers") settings.peers = std::stoi(value);
      if (name == "fail") {
        settings.failing = value.substr(0, value.find(':'));
        settings.failing_number = std::stoi(value.substr(value.find(':') + 1));
      }
    }
    return settings;
  }
};

constexpr size_t kMostDevices = 16;

// A block of device memory, and the context that it was taken in.
struct DeviceBlock {
  uint64_t bytes = 0;
  const void* context = nullptr;
};

struct Stream;

// What there is, for the whole process.
struct World {
  std::mutex mutex;
  Settings settings;
  std::map<uintptr_t, DeviceBlock> blocks;
  std::array<int, kMostDevices> contexts =
      {};  // whose addresses are handles, as those of pools are
  std::array<int, kMostDevices> pools = {};
  std::map<std::string, int> calls;
  std::set<Stream*> streams;
  bool is_lost = false;
  bool has_ended = false;  // as the driver has when a process ends
  FakeCounters counters;
};

inline World& world() {
  static auto* const instance = new World;
  return *instance;
}

// What every function answers before it does anything.
inline int enter(const char* name) {
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  if (w.has_ended) return kEnded;
  if (w.settings.failing == name && ++w.calls[name] == w.settings.failing_number) return kInvalid;
  return w.is_lost ? kIllegalAddress : kOk;
}
#define ENTER(name) \
  if (const int entered = enter(name); entered != kOk) return entered

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
  bool is_spoilt = false;  // what it records, by a call that a recording does not bear
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
