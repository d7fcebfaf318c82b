// SPDX-License-Identifier: Apache-2.0
// Kernels on their way to being compiled: NVRTC compiles programs on several threads at once, so
// what is known to be wanted is compiled side by side, before anybody waits for it. Any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gantry::cuda {

struct Program;

class CompileQueue {
 public:
  /// Makes code of a source for a compute capability, on any number of threads at once; throws.
  using Make = std::function<std::string(const std::string& source, int capability)>;

  /// `most_threads`: of its own, at least 1; they are started when there is work for them, and end
  /// when there is none.
  CompileQueue(Make make, unsigned most_threads);
  ~CompileQueue();
  CompileQueue(const CompileQueue&) = delete;
  CompileQueue& operator=(const CompileQueue&) = delete;

  /// Lets the program be compiled soon, unless it was asked for before.
  void ask(const Program& program, int capability);
  /// The code, which is kept for others who want it until `forget`. Who comes before a thread of
  /// the queue has begun compiles it himself, others wait. Throws what `make` did, each time.
  std::shared_ptr<const std::string> code_of(const Program& program, int capability);
  /// The code has been loaded where it is wanted.
  void forget(const Program& program, int capability);
  /// Waits for what is being compiled and drops the rest; nothing is begun any more. Also called
  /// when the process ends, as the compiler is taken down before what is never destroyed.
  void end();

 private:
  using Key = std::pair<const Program*, int>;  // and the capability
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
  void start_worker();
  void make(const Key& key, Job& job, std::unique_lock<std::mutex>& lock);

  const Make make_;
  const unsigned most_threads_;
  std::mutex mutex_;
  std::condition_variable changed_;  // a job is done
  std::map<Key, Job> jobs_;
  std::deque<Key> waiting_;  // some of which may have been begun since
  std::vector<Worker> workers_;
  bool has_ended_ = false;
};

}  // namespace gantry::cuda
