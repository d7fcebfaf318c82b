// SPDX-License-Identifier: Apache-2.0
// State of the fake driver: the machine that the environment describes. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fake_driver.h"

namespace gantry::test {

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
  int early = 1;

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
      if (name == "early") settings.early = std::stoi(value);
      if (name == "fail") {
        settings.failing = value.substr(0, value.find(':'));
        settings.failing_number = std::stoi(value.substr(value.find(':') + 1));
      }
    }
    return settings;
  }
};

constexpr size_t kMostDevices = 16;

// A block of device memory, and the context of its allocation.
struct DeviceBlock {
  uint64_t bytes = 0;
  const void* context = nullptr;
};

struct Stream;

// State of the process.
struct World {
  std::mutex mutex;
  Settings settings;
  std::map<uintptr_t, DeviceBlock> blocks;
  std::array<int, kMostDevices> contexts = {};  // their addresses are the handles, as with pools
  std::array<int, kMostDevices> pools = {};
  std::map<std::string, int> calls;
  std::set<Stream*> streams;
  bool is_lost = false;
  bool has_ended = false;  // the driver was shut down, as at the end of a process
  FakeCounters counters;
};

inline World& world() {
  static auto* const instance = new World;
  return *instance;
}

// The result of every function before it does anything.
inline int enter(const char* name) {
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  if (w.has_ended) return kEnded;
  if (w.settings.failing == name && ++w.calls[name] == w.settings.failing_number) return kInvalid;
  return w.is_lost ? kIllegalAddress : kOk;
}
inline int lost_or_ok() { return enter(""); }
inline void break_device() {
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  w.is_lost = true;
}
#define ENTER(name) \
  if (const int entered = enter(name); entered != kOk) return entered

#define EXPORT extern "C" __attribute__((visibility("default")))

}  // namespace gantry::test
