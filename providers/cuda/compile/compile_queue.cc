// SPDX-License-Identifier: Apache-2.0
#include "compile/compile_queue.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <system_error>

namespace gantry::cuda {

namespace {

// The queues of the process.
struct Queues {
  sdk::Mutex mutex;
  std::set<CompileQueue*> all GANTRY_GUARDED_BY(mutex);
};

Queues& queues() {
  static auto* const instance = new Queues;
  return *instance;
}

void end_queues() {
  Queues& running = queues();
  const sdk::MutexLock lock(running.mutex);
  for (CompileQueue* queue : running.all) queue->end();
}

}  // namespace

CompileQueue::CompileQueue(Make make, unsigned most_threads)
    : make_(std::move(make)), most_threads_(std::max(most_threads, 1U)) {
  workers_.reserve(most_threads_);  // so that their addresses stay valid
  Queues& running = queues();
  const sdk::MutexLock lock(running.mutex);
  running.all.insert(this);
}

CompileQueue::~CompileQueue() {
  {
    Queues& running = queues();
    const sdk::MutexLock lock(running.mutex);
    running.all.erase(this);
  }
  end();
}

void CompileQueue::end() {
  std::vector<std::thread> threads;
  {
    const sdk::MutexLock lock(mutex_);
    has_ended_ = true;
    waiting_.clear();
    threads.reserve(workers_.size());
    for (Worker& worker : workers_) {
      if (worker.thread.joinable()) threads.push_back(std::move(worker.thread));
    }
  }
  for (std::thread& thread : threads) thread.join();
}

void CompileQueue::ask(const Program& program, int capability) {
  const sdk::MutexLock lock(mutex_);
  const Key key{&program, capability};
  if (has_ended_ || !jobs_.try_emplace(key).second) return;
  waiting_.push_back(key);
  start_worker();
}

// If the system has no thread left, the thread that wants the code compiles it.
void CompileQueue::start_worker() {
  // Exit handlers run in reverse order: registered here, this one runs before those of the compiler
  // library and of what the library set up when it first compiled.
  static std::once_flag registered;
  std::call_once(registered, [] { std::atexit(end_queues); });
  const auto ended = std::find_if(workers_.begin(), workers_.end(),
                                  [](const Worker& worker) { return worker.has_ended; });
  if (ended == workers_.end() && workers_.size() == most_threads_) return;
  const auto number = static_cast<size_t>(ended - workers_.begin());
  if (ended == workers_.end()) {
    workers_.emplace_back();
  } else if (ended->thread.joinable()) {
    ended->thread.join();  // it holds no lock any more
  }
  Worker& worker = workers_[number];
  worker.has_ended = false;
  try {
    worker.thread = std::thread([this, number] { serve(number); });
  } catch (const std::system_error&) {
    worker.has_ended = true;
  }
}

void CompileQueue::serve(size_t worker) {
  const sdk::MutexLock lock(mutex_);
  while (!waiting_.empty()) {
    const Key key = waiting_.front();
    waiting_.pop_front();
    Job& job = jobs_[key];
    if (job.state == State::kWaiting) make(key, job);
  }
  workers_[worker].has_ended = true;
}

// Requires a job that no other thread has begun.
void CompileQueue::make(const Key& key, Job& job) {
  job.state = State::kBusy;
  std::shared_ptr<const std::string> code;
  std::exception_ptr failure;
  try {
    const sdk::MutexUnlock unlock(mutex_);
    code = std::make_shared<const std::string>(make_(key.first->source, key.second));
  } catch (...) {
    failure = std::current_exception();
  }
  static std::once_flag registered;
  std::call_once(registered, [] { std::atexit(end_queues); });
  job.code = std::move(code);
  job.failure = std::move(failure);
  job.state = State::kDone;
  changed_.notify_all();
}

std::shared_ptr<const std::string> CompileQueue::code_of(const Program& program, int capability) {
  const sdk::MutexLock lock(mutex_);
  const Key key{&program, capability};
  Job& job = jobs_[key];
  if (job.state == State::kWaiting || job.state == State::kForgotten) make(key, job);
  while (job.state == State::kBusy) changed_.wait(mutex_);
  // Another thread may have called forget() meanwhile: the code is then compiled again.
  if (job.state == State::kForgotten) make(key, job);
  if (job.failure) std::rethrow_exception(job.failure);
  return job.code;
}

void CompileQueue::forget(const Program& program, int capability) {
  const sdk::MutexLock lock(mutex_);
  Job& job = jobs_[{&program, capability}];
  if (job.state != State::kDone) return;
  job.state = State::kForgotten;
  job.code.reset();
}

}  // namespace gantry::cuda
