// SPDX-License-Identifier: Apache-2.0
// Background compilation of kernels by several threads, so that kernels which are known to be
// needed are compiled before a run waits for them. Any thread.
#pragma once

#include <gantry/sdk/mutex.h>

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "compile/program.h"

namespace gantry::cuda {

class CompileQueue {
 public:
  /// Compiles a source for a compute capability; called from any number of threads at once; may
  /// throw.
  using Make = std::function<std::string(const std::string& source, int capability)>;

  /// `most_threads`: limit of worker threads, at least 1. They start when there is work and end
  /// when there is none.
  CompileQueue(Make make, unsigned most_threads);
  ~CompileQueue();
  CompileQueue(const CompileQueue&) = delete;
  CompileQueue& operator=(const CompileQueue&) = delete;

  /// Queues a program for compilation, unless it was queued before.
  void ask(const Program& program, int capability);
  /// The compiled code, cached until `forget`. If no worker has begun the job the caller compiles
  /// it; otherwise the caller waits. Rethrows what `make` threw, at every call.
  std::shared_ptr<const std::string> code_of(const Program& program, int capability);
  /// Releases the cached code, once it has been loaded on the device.
  void forget(const Program& program, int capability);
  /// Waits for running compilations and drops the others; no more are started. Also called at
  /// process exit, because the compiler library is torn down before objects that are never
  /// destroyed.
  void end();

 private:
  using Key = std::pair<const Program*, int>;  // compute capability
  enum class State : uint8_t { kWaiting, kBusy, kDone, kForgotten };
  struct Job {
    State state = State::kWaiting;
    std::shared_ptr<const std::string> code;
    std::exception_ptr failure;
  };
  struct Worker {
    std::thread thread;
    bool has_ended = false;
  };

  void serve(size_t worker);
  void start_worker() GANTRY_REQUIRES(mutex_);
  void make(const Key& key, Job& job) GANTRY_REQUIRES(mutex_);

  const Make make_;
  const unsigned most_threads_;
  sdk::Mutex mutex_;
  sdk::CondVar changed_;  // a job is done
  std::map<Key, Job> jobs_ GANTRY_GUARDED_BY(mutex_);
  std::deque<Key> waiting_ GANTRY_GUARDED_BY(mutex_);  // some may have been started since
  std::vector<Worker> workers_ GANTRY_GUARDED_BY(mutex_);
  bool has_ended_ GANTRY_GUARDED_BY(mutex_) = false;
};

}  // namespace gantry::cuda
