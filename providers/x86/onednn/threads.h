// SPDX-License-Identifier: Apache-2.0
// The threads of this provider are oneTBB's, as the library's own are, so that all share the
// workers of the process (docs/decisions/0017). Everything here may be called by any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace gantry::x86 {

/// While it lives, this thread takes denormal numbers for zero, as operands and as results: the CPU
/// needs a hundred times as long for each.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlushToZero | kAreZero); }
  ~FlushDenormals() { _mm_setcsr(before_); }

 private:
  static constexpr unsigned kFlushToZero = 0x8000;
  static constexpr unsigned kAreZero = 0x0040;
  unsigned before_;
#else
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif

 public:
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
};

/// The threads that the process may use.
int machine_threads();

/// Number of this thread among those that with_threads() gives its body, from 0.
int thread_number();

/// As below, of functions.
void call_with_threads(int threads, void (*body)(void* arg), void* arg);
void call_for_ranges(int64_t count, int64_t grain,
                     void (*body)(const void* arg, int64_t begin, int64_t end), const void* arg);

/// Runs `body` where the library and the loops below see `threads` threads, the caller's among
/// them: for creating primitives as for running them. They flush denormal numbers. What it throws
/// arrives.
template <class Body>
void with_threads(int threads, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  call_with_threads(
      threads, [](void* arg) { (*static_cast<Plain*>(arg))(); }, std::addressof(body));
}

/// body(begin, end) for disjoint ranges that cover [0, count), each of at most `grain` items, on
/// the threads that the body around it was given. What one of them throws arrives.
template <class Body>
void for_ranges(int64_t count, int64_t grain, const Body& body) {
  call_for_ranges(
      count, grain,
      [](const void* arg, int64_t begin, int64_t end) {
        (*static_cast<const Body*>(arg))(begin, end);
      },
      &body);
}

/// body(i) for each i in [0, count), otherwise the same.
template <class Body>
void for_each(int64_t count, const Body& body) {
  for_ranges(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace gantry::x86
