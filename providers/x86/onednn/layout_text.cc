// SPDX-License-Identifier: Apache-2.0
#include "onednn/layout_text.h"

#include <gantry/sdk/mutex.h>

#include <algorithm>
#include <charconv>
#include <oneapi/dnnl/dnnl.h>
#include <vector>

namespace gantry::x86 {
namespace {

/// `is_exact`: strides along dimensions of extent 1, which do not matter, must be equal too. Some
/// implementations require them.
bool is_of_tag(const Desc& layout, dnnl_format_tag_t tag, bool is_exact) {
  const Dims dims = layout.get_dims();
  dnnl_memory_desc_t made = nullptr;
  const dnnl_status_t status =
      dnnl_memory_desc_create_with_tag(&made, static_cast<int>(dims.size()), dims.data(),
                                       static_cast<dnnl_data_type_t>(layout.get_data_type()), tag);
  if (status != dnnl_success) return false;
  const Desc of_tag(made);
  return of_tag == layout && (!is_exact || of_tag.get_strides() == layout.get_strides());
}

// Tags that were found before come first: a model has few layouts, oneDNN many.
std::vector<dnnl_format_tag_t> tags() {
  std::vector<dnnl_format_tag_t> all;
  for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag)
    all.push_back(static_cast<dnnl_format_tag_t>(tag));
  return all;
}

std::vector<dnnl_format_tag_t>::iterator find_tag(std::vector<dnnl_format_tag_t>& among,
                                                  const Desc& layout, bool is_exact) {
  return std::find_if(among.begin(), among.end(),
                      [&](dnnl_format_tag_t tag) { return is_of_tag(layout, tag, is_exact); });
}

}  // namespace

std::string layout_name(const Desc& layout) {
  static sdk::Mutex mutex;
  static auto* const known GANTRY_PT_GUARDED_BY(mutex) = new std::vector<dnnl_format_tag_t>(tags());
  const sdk::MutexLock lock(mutex);
  std::vector<dnnl_format_tag_t>& order = *known;
  auto found = find_tag(order, layout, true);
  if (found == order.end()) found = find_tag(order, layout, false);
  if (found == order.end()) return {};
  std::string name = std::to_string(static_cast<int>(*found)) + " " +
                     std::to_string(static_cast<int>(layout.get_data_type()));
  std::rotate(order.begin(), found, found + 1);
  return name;
}

Desc layout_of(const std::string& name, const Dims& dims) {
  int tag = 0;
  int type = 0;
  const char* end = name.data() + name.size();
  const char* space = std::from_chars(name.data(), end, tag).ptr;
  if (space != end) std::from_chars(space + 1, end, type);
  return {dims, static_cast<dnnl::memory::data_type>(type), static_cast<Tag>(tag)};
}

}  // namespace gantry::x86
