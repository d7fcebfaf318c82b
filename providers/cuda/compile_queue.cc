// SPDX-License-Identifier: Apache-2.0
#include "compile_queue.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <system_error>

#include "programs.h"

namespace gantry::cuda {

namespace {

// The queues of the process.
struct Queues {
  std::mutex mutex;
  std::set<CompileQueue*> all;
};

Queues& queues() {
  static auto* const instance = new Queues;
  return *instance;
}

void end_queues() {
  const std::lock_guard<std::mutex> lock(queues().mutex);
  for (CompileQueue* queue : queues().all) queue->end();
}

}  // namespace

CompileQueue::CompileQueue(Make make, unsigned most_threads)
    : make_(std::move(make)), most_threads_(std::max(most_threads, 1U)) {
  workers_.reserve(most_threads_);  // their addresses stay
  const std::lock_guard<std::mutex> lock(queues().mutex);
  queues().all.insert(this);
}

CompileQueue::~CompileQueue() {
  {
    const std::lock_guard<std::mutex> lock(queues().mutex);
    queues().all.erase(this);
  }
  end();
}

void CompileQueue::end() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_ended_ = true;
    waiting_.clear();
  }
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) worker.thread.join();
  }
}

void CompileQueue::ask(const Program& program, int capability) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Key key{&program, capability};
  if (has_ended_ || !jobs_.try_emplace(key).second) return;
  waiting_.push_back(key);
  start_worker();
}

// Where the system has no thread left, whoever wants the code makes it.
void CompileQueue::start_worker() {
  // What ends with the process ends in the opposite order: this before the compiler, which has
  // been opened, and before what it has set up when it compiled first.
  static std::once_flag registered;
  std::call_once(registered, [] { std::atexit(end_queues); });
  const auto ended = std::find_if(workers_.begin(), workers_.end(),
                                  [](const Worker& worker) { return worker.has_ended; });
  if (ended == workers_.end() && workers_.size() == most_threads_) return;
  const auto number = static_cast<size_t>(ended - workers_.begin());
  if (ended == workers_.end()) {
    workers_.emplace_back();
  } else if (ended->thread.joinable()) {
    ended->thread.join();  // it asks for nothing any more
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
  std::unique_lock<std::mutex> lock(mutex_);
  while (!waiting_.empty()) {
    const Key key = waiting_.front();
    waiting_.pop_front();
    Job& job = jobs_[key];
    if (job.state == State::kWaiting) make(key, job, lock);
  }
  workers_[worker].has_ended = true;
}

// Of a job that nobody else has begun.
void CompileQueue::make(const Key& key, Job& job, std::unique_lock<std::mutex>& lock) {
  job.state = State::kBusy;
  lock.unlock();
  std::shared_ptr<const std::string> code;
  std::exception_ptr failure;
  try {
    code = std::make_shared<const std::string>(make_(key.first->source, key.second));
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  static std::once_flag registered;
  std::call_once(registered, [] { std::atexit(end_queues); });
  job.code = std::move(code);
  job.failure = std::move(failure);
  job.state = State::kDone;
  changed_.notify_all();
}

std::shared_ptr<const std::string> CompileQueue::code_of(const Program& program, int capability) {
  std::unique_lock<std::mutex> lock(mutex_);
  const Key key{&program, capability};
  Job& job = jobs_[key];
  if (job.state == State::kWaiting || job.state == State::kForgotten) make(key, job, lock);
  changed_.wait(lock, [&] { return job.state != State::kBusy; });
  // What another has forgotten in between is made again, by whoever wants it.
  if (job.state == State::kForgotten) make(key, job, lock);
  if (job.failure) std::rethrow_exception(job.failure);
  return job.code;
}

void CompileQueue::forget(const Program& program, int capability) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Job& job = jobs_[{&program, capability}];
  if (job.state != State::kDone) return;
  job.state = State::kForgotten;
  job.code.reset();
}

}  // namespace gantry::cuda
