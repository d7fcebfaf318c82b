// SPDX-License-Identifier: Apache-2.0
// Threads of this provider: oneTBB's, like oneDNN's own, so that all share the process's workers
// (docs/decisions/0017). Any thread may call everything here.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace gantry::x86 {

/// While it lives, denormals are zero on this thread, as operands (DAZ) and as results (FTZ): the
/// CPU needs a hundred times as long for each.
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

/// Number of threads that the process may use.
int machine_threads();

/// Index of the calling thread, from 0, among those of the innermost with_threads().
int thread_number();

/// with_threads() and for_ranges() on plain functions.
void call_with_threads(int threads, void (*body)(void* arg), void* arg);
void call_for_ranges(int64_t count, int64_t grain,
                     void (*body)(const void* arg, int64_t begin, int64_t end), const void* arg);

/// Runs `body` in an arena of `threads` threads, the caller's among them, which oneDNN (creating
/// and running primitives) and the loops below use. The threads flush denormals. Exceptions of
/// `body` propagate.
template <class Body>
void with_threads(int threads, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  call_with_threads(
      threads, [](void* arg) { (*static_cast<Plain*>(arg))(); }, std::addressof(body));
}

/// Calls body(begin, end) for disjoint ranges that cover [0, count), each of at most `grain` items,
/// on the threads of with_threads(). An exception of one of them propagates.
template <class Body>
void for_ranges(int64_t count, int64_t grain, const Body& body) {
  call_for_ranges(
      count, grain,
      [](const void* arg, int64_t begin, int64_t end) {
        (*static_cast<const Body*>(arg))(begin, end);
      },
      &body);
}

/// Calls body(i) for each i in [0, count) likewise.
template <class Body>
void for_each(int64_t count, const Body& body) {
  for_ranges(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace gantry::x86
