// SPDX-License-Identifier: Apache-2.0
// The body of a parallel_for, kept from throwing through the host.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace gantry::sdk {

/// Calls `body` and keeps the first exception that it throws; ranges that begin later are left out.
/// call() is for any thread, rethrow() for the caller of parallel_for after all have returned.
template <class Body>
class ParallelBody {
 public:
  explicit ParallelBody(Body& body) : body_(body) {}

  void call(int64_t begin, int64_t end) noexcept {
    if (has_thrown_.load(std::memory_order_relaxed)) return;
    try {
      body_(begin, end);
    } catch (...) {
      if (!has_thrown_.exchange(true)) error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  Body& body_;
  std::atomic<bool> has_thrown_ = false;
  std::exception_ptr error_;  // written by the thread that set has_thrown_
};

}  // namespace gantry::sdk
