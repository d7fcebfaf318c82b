// SPDX-License-Identifier: Apache-2.0
// oneDNN as this provider uses it: one engine, and primitives bound to their arguments. Its threads
// are those of threads.h.
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

/// "3.2.0". [any]
std::string version();
/// The commit that the library was built from. [any]
std::string build();
/// The CPU engine of the process. [any]
const dnnl::engine& engine();

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
  /// Has the implementation checked (implementation_check.h). `node`: on whose behalf it runs.
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

}  // namespace gantry::x86
