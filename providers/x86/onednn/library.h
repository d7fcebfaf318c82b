// SPDX-License-Identifier: Apache-2.0
// oneDNN as this provider uses it: one engine, layouts, and primitives bound to their arguments.
// Its threads are those of threads.h.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <initializer_list>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onednn/implementation_check.h"
#include "onednn/threads.h"

namespace gantry::x86 {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

/// oneDNN's version, as "3.2.0". [any]
std::string version();
/// The commit that oneDNN was built from. [any]
std::string build();
/// The CPU engine of the process. [any]
const dnnl::engine& engine();

/// The dense layout, axes in order. Requires a rank from 1 to 6.
Tag dense(size_t rank);
/// The channels-last layout, axis 1 innermost. Requires a rank from 3 to 5.
Tag channels_last(size_t rank);

/// The layout of a tensor between kernels. Requires rank 3 or more. If dense and channels-last
/// order are the same bytes it is channels-last, which avoids needless reorders.
Desc desc_of(const Dims& dims, bool is_channels_last,
             dnnl::memory::data_type type = dnnl::memory::data_type::f32);

inline Desc desc_f32(const Dims& dims, Tag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}
/// A memory object whose data handle is set in each run.
inline dnnl::memory memory_of(const Desc& desc) { return {desc, engine(), nullptr}; }

/// A primitive and its arguments. Used by one run at a time.
class Launch {
 public:
  Launch() = default;
  /// Reports the implementation (report_implementation). `node`: the node's name in the log.
  Launch(std::string_view node, dnnl::primitive primitive,
         std::initializer_list<std::pair<int, dnnl::memory>> arguments)
      : primitive_(std::move(primitive)) {
    report_implementation(node, primitive_.get_primitive_desc());
    for (const auto& [number, memory] : arguments) add(number, memory);
  }
  void add(int number, const dnnl::memory& memory) {
    memories_.push_back(memory);
    arguments_.push_back({number, memory.get()});
  }
  [[nodiscard]] bool is_set() const { return static_cast<bool>(primitive_); }
  /// Runs it and returns when it is done. Uses the threads of with_threads(). Errors: dnnl::error.
  void run(const dnnl::stream& stream) const;

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// True if oneDNN has specific code for the primitive: no reference implementation and no GEMM
/// fallback.
bool is_fast(const dnnl::primitive_desc_base& description);

}  // namespace gantry::x86
