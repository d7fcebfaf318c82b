// SPDX-License-Identifier: Apache-2.0
#include "onednn/implementation_check.h"

#include <gantry/sdk/mutex.h>
#include <gantry/sdk/provider.h>

#include <atomic>
#include <oneapi/dnnl/dnnl_debug.h>
#include <string>
#include <unordered_set>

namespace gantry::x86 {
namespace {

std::atomic<const gantry_host*> report_host{nullptr};

/// Calls body(part) for each part of a name between colons and plus signs.
template <class Body>
void for_each_part(std::string_view name, Body&& body) {
  while (!name.empty()) {
    const size_t end = name.find_first_of(":+");
    body(name.substr(0, end));
    name.remove_prefix(end == std::string_view::npos ? name.size() : end + 1);
  }
}

/// "f32 [1, 96, 28, 28]"; empty: the primitive has no such tensor.
std::string text_of(const_dnnl_primitive_desc_t description, dnnl_query_t what, int number) {
  const_dnnl_memory_desc_t raw = dnnl_primitive_desc_query_md(description, what, number);
  dnnl_memory_desc_t copy = nullptr;
  if (!raw || dnnl_memory_desc_clone(&copy, raw) != dnnl_success) return {};
  const dnnl::memory::desc desc(copy);
  if (desc.is_zero()) return {};
  std::string text =
      std::string(dnnl_dt2str(static_cast<dnnl_data_type_t>(desc.get_data_type()))) + " [";
  for (const int64_t extent : desc.get_dims())
    text += (text.back() == '[' ? "" : ", ") + std::to_string(extent);
  return text + "]";
}

std::string shapes_of(const_dnnl_primitive_desc_t description) {
  struct Tensor {
    dnnl_query_t query;
    int number;
    const char* name;
  };
  constexpr Tensor kTensors[] = {{dnnl_query_src_md, 0, "source"},
                                 {dnnl_query_src_md, 1, "second source"},
                                 {dnnl_query_weights_md, 0, "weights"},
                                 {dnnl_query_dst_md, 0, "result"}};
  std::string all;
  for (const Tensor& tensor : kTensors) {
    const std::string text = text_of(description, tensor.query, tensor.number);
    if (!text.empty()) all += (all.empty() ? "" : ", ") + std::string(tensor.name) + " " + text;
  }
  return all;
}

dnnl_primitive_kind_t kind_of(const_dnnl_primitive_desc_t description) {
  dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
  dnnl::error::wrap_c_api(
      dnnl_primitive_desc_query(description, dnnl_query_primitive_kind, 0, &kind),
      "could not ask for the kind of a primitive");
  return kind;
}

std::string implementation_of(const_dnnl_primitive_desc_t description) {
  const char* name = nullptr;
  dnnl::error::wrap_c_api(
      dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name),
      "could not ask for the implementation of a primitive");
  return name;
}

/// `node: oneDNN's convolution (source f32 [...], ...)`
std::string subject(std::string_view node, const_dnnl_primitive_desc_t description) {
  return "x86: " + std::string(node) + ": oneDNN's " + dnnl_prim_kind2str(kind_of(description)) +
         " (" + shapes_of(description) + ")";
}

// Logs a text once per process. Dynamic shapes can make many texts: after thousands the record of
// them is cleared, and they may be logged again.
void report(gantry_log_level level, const std::string& text) {
  constexpr size_t kMostTexts = 4096;
  const gantry_host* const host = report_host.load();
  if (!host) return;
  static sdk::Mutex mutex;
  static auto* const told GANTRY_PT_GUARDED_BY(mutex) = new std::unordered_set<std::string>;
  {
    const sdk::MutexLock lock(mutex);
    if (told->size() >= kMostTexts) told->clear();
    if (!told->insert(text).second) return;
  }
  host->log(level, sdk::to_str(text));
}

}  // namespace

CodeKind code_kind(dnnl::primitive::kind primitive, std::string_view implementation) {
  const bool is_convolution = primitive == dnnl::primitive::kind::convolution ||
                              primitive == dnnl::primitive::kind::deconvolution;
  CodeKind kind = CodeKind::kOptimized;
  for_each_part(implementation, [&](std::string_view part) {
    if (part == "ref" || part.rfind("ref_", 0) == 0) {
      kind = CodeKind::kReference;
    } else if (kind == CodeKind::kOptimized &&
               (part.rfind("simple", 0) == 0 || (is_convolution && part.rfind("gemm", 0) == 0))) {
      kind = CodeKind::kFallback;
    }
  });
  return kind;
}

CodeKind code_kind(const dnnl::primitive_desc_base& description) {
  return code_kind(description.get_kind(), description.impl_info_str());
}

void set_report_host(const gantry_host* host) { report_host = host; }

void report_implementation(std::string_view node, const_dnnl_primitive_desc_t description) {
  const auto primitive = static_cast<dnnl::primitive::kind>(kind_of(description));
  const std::string implementation = implementation_of(description);
  const CodeKind kind = code_kind(primitive, implementation);
  if (kind == CodeKind::kOptimized) return;
  const bool is_grave = kind == CodeKind::kReference ||
                        primitive == dnnl::primitive::kind::convolution ||
                        primitive == dnnl::primitive::kind::deconvolution;
  report(is_grave ? GANTRY_LOG_WARNING : GANTRY_LOG_INFO,
         subject(node, description) + " runs by " +
             (kind == CodeKind::kReference ? "a reference implementation, " : "a fallback, ") +
             implementation +
             ", which is slow: neither the library nor this provider has other "
             "code for it on this CPU");
}

void report_passed_over(std::string_view node, const dnnl::primitive_desc_base& description,
                        std::string_view instead) {
  report(GANTRY_LOG_INFO, subject(node, description.get()) + " would run by " +
                              description.impl_info_str() + ", which is slow; it runs by " +
                              std::string(instead));
}

}  // namespace gantry::x86
