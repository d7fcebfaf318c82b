// SPDX-License-Identifier: Apache-2.0
// Which of its implementations the library chose for a primitive, and what is done about a slow
// one. Where the library has no code for a case it takes a reference implementation, which follows
// the definition element by element and can take thirty times as long. Every primitive of this
// provider is checked here before it runs. [any]
#pragma once

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string_view>

struct gantry_host;

namespace gantry::x86 {

/// How an implementation computes, the fastest kind first.
enum class CodeKind : uint8_t {
  kOptimized,  ///< generated for the instruction set; of a matmul, the library's GEMM too
  kFallback,   ///< a convolution by im2col and GEMM; compiled loops of a pool or a reorder
  kReference   ///< the definition, element by element
};

/// What the library's name of an implementation says: "jit:avx2", "brg:avx512_core", "gemm:jit",
/// "x64:gemm:jit", "simple_nchw:any", "ref:any", "conv:any+ref:any".
CodeKind code_kind(dnnl::primitive::kind primitive, std::string_view implementation);
CodeKind code_kind(const dnnl::primitive_desc_base& description);
inline bool is_optimized(const dnnl::primitive_desc_base& description) {
  return code_kind(description) == CodeKind::kOptimized;
}

/// Where reports go. Once, before the first of them.
void set_report_host(const gantry_host* host);

/// Says in the log, once for each text, that a primitive runs by an implementation that is not
/// optimized: a warning of a reference implementation and of a convolution's fallback, else a line
/// of level info. Optimized ones say nothing. `node`: on whose behalf, as logs name it.
void report_implementation(std::string_view node, const_dnnl_primitive_desc_t description);

/// Says in the log, once for each text, that the implementation of `description` was passed over,
/// and what runs `instead`.
void report_passed_over(std::string_view node, const dnnl::primitive_desc_base& description,
                        std::string_view instead);

/// Of the implementations that the library has for what `describe()` describes, the first of the
/// fastest kind among those that `is_usable(description)` admits. What is passed over for being
/// slower is reported. Errors: unimplemented, if none is usable; those of `describe`.
template <class Describe, class IsUsable>
auto best_implementation(std::string_view node, Describe&& describe, IsUsable&& is_usable) {
  auto description = describe();
  std::optional<CodeKind> first_kind;  // of the first usable one
  std::optional<CodeKind> best_kind;
  int best = 0;
  for (int number = 0;; ++number) {
    if (is_usable(description)) {
      const CodeKind kind = code_kind(description);
      if (!first_kind) first_kind = kind;
      if (!best_kind || kind < *best_kind) {
        best_kind = kind;
        best = number;
      }
      if (kind == CodeKind::kOptimized) break;
    }
    if (!description.next_impl()) break;
  }
  if (!best_kind)
    throw dnnl::error(dnnl_unimplemented, "could not find a usable implementation of a primitive");
  if (*best_kind == CodeKind::kOptimized && *first_kind == *best_kind) return description;
  auto chosen = describe();
  for (int number = 0; number < best; ++number) chosen.next_impl();
  if (*first_kind != *best_kind) report_passed_over(node, describe(), chosen.impl_info_str());
  return chosen;
}
template <class Describe>
auto best_implementation(std::string_view node, Describe&& describe) {
  return best_implementation(node, describe, [](const auto&) { return true; });
}

}  // namespace gantry::x86
