// SPDX-License-Identifier: Apache-2.0
// Checks which implementation oneDNN chose for a primitive, and finds or reports a slow one. Where
// oneDNN has no code for a case it uses a reference implementation, which can take thirty times as
// long. Every primitive of this provider is checked here before it runs. [any]
#pragma once

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string_view>

struct gantry_host;

namespace gantry::x86 {

/// How an implementation computes, the fastest kind first.
enum class CodeKind : uint8_t {
  kOptimized,  ///< generated for the instruction set; for a matmul also oneDNN's GEMM
  kFallback,   ///< a convolution by im2col and GEMM; compiled loops of a pool or a reorder
  kReference   ///< element by element
};

/// The kind of an implementation by oneDNN's name for it: "jit:avx2", "brg:avx512_core",
/// "gemm:jit", "x64:gemm:jit", "simple_nchw:any", "ref:any", "conv:any+ref:any".
CodeKind code_kind(dnnl::primitive::kind primitive, std::string_view implementation);
CodeKind code_kind(const dnnl::primitive_desc_base& description);
inline bool is_optimized(const dnnl::primitive_desc_base& description) {
  return code_kind(description) == CodeKind::kOptimized;
}

/// Sets the host whose log receives the reports; without one they are dropped.
void set_report_host(const gantry_host* host);

/// Logs, once for each text, that a primitive's implementation is not optimized: as a warning for a
/// reference implementation or a convolution's fallback, else at level info. `node`: the node's
/// name in the log.
void report_implementation(std::string_view node, const_dnnl_primitive_desc_t description);

/// Logs, once for each text, that the implementation of `description` is not used, and what runs
/// `instead`.
void report_passed_over(std::string_view node, const dnnl::primitive_desc_base& description,
                        std::string_view instead);

/// Searches oneDNN's implementations of the primitive that `describe()` describes for the first of
/// the fastest kind that `is_usable(description)` admits. Reports a slower one that oneDNN prefers.
/// Errors: dnnl_unimplemented if none is usable; those of `describe`.
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
