// SPDX-License-Identifier: Apache-2.0
// oneDNN as this provider uses it: one engine, the arenas in which its primitives run, and
// primitives bound to their arguments. The library is built for oneTBB, so that its parallel
// regions run on the workers that the whole process shares (docs/decisions/0017).
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <initializer_list>
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <string>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace gantry::onednn {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

/// "3.2.0". [any]
std::string version();
/// The commit that the library was built from. [any]
std::string build();
/// The CPU engine of the process. [any]
const dnnl::engine& engine();

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

/// An arena of that many threads, the caller's among them, whose workers flush denormal numbers;
/// lives as long as the process. [any]
oneapi::tbb::task_arena& arena(int threads);

/// Runs `body` where the library sees `threads` threads, for creating primitives as for running
/// them. Denormal numbers are flushed. In a run that is in an arena as wide already, as the host's
/// runs are, that is the one: workers would be slow to follow into another.
template <class Body>
void with_threads(int threads, Body&& body) {
  namespace tbb = oneapi::tbb;
  const FlushDenormals flush;
  const bool is_inside =
      tbb::this_task_arena::current_thread_index() != tbb::task_arena::not_initialized &&
      tbb::this_task_arena::max_concurrency() == threads;
  if (!is_inside) return arena(threads).execute(body);
  // The workers calculate as the context says, not as their arena was set up.
  tbb::task_group_context context(tbb::task_group_context::isolated);
  context.capture_fp_settings();
  tbb::parallel_for(
      0, 1, 1, [&](int) { body(); }, tbb::simple_partitioner(), context);
}

/// Dense layout of a rank from 1 to 6: axes in order.
Tag dense(size_t rank);
/// Layout of a rank from 3 to 5 with axis 1 innermost.
Tag channels_last(size_t rank);

/// The layout in which a tensor of rank 3 or more passes between kernels. Where both orders are the
/// same bytes it is the channels-last one, so that nothing is reordered for nothing.
Desc desc_of(const Dims& dims, bool is_channels_last,
             dnnl::memory::data_type type = dnnl::memory::data_type::f32);

inline Desc desc_f32(const Dims& dims, Tag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}
/// A tensor whose data are set at run time.
inline dnnl::memory memory_of(const Desc& desc) { return {desc, engine(), nullptr}; }

/// A primitive and its arguments. Used by one run at a time.
class Launch {
 public:
  Launch() = default;
  Launch(dnnl::primitive primitive, std::initializer_list<std::pair<int, dnnl::memory>> arguments)
      : primitive_(std::move(primitive)) {
    for (const auto& [number, memory] : arguments) add(number, memory);
  }
  void add(int number, const dnnl::memory& memory) {
    memories_.push_back(memory);
    arguments_.push_back({number, memory.get()});
  }
  [[nodiscard]] bool is_set() const { return static_cast<bool>(primitive_); }
  /// Runs it to its end, on the threads of the arena around. Errors: the library's.
  void run(const dnnl::stream& stream) const;

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// True if the library has code of its own for it, and no reference implementation or detour over a
/// general product.
bool is_fast(const dnnl::primitive_desc_base& description);

}  // namespace gantry::onednn
