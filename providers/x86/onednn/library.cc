// SPDX-License-Identifier: Apache-2.0
#include "onednn/library.h"

#include <algorithm>
#include <array>
#include <string>

namespace gantry::x86 {

std::string version() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

std::string build() { return dnnl_version()->hash; }

const dnnl::engine& engine() {
  // Outlives threads that still run at exit.
  static const auto& instance = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return instance;
}

Tag dense(size_t rank) {
  constexpr std::array<Tag, 7> kTags = {Tag::undef, Tag::a,     Tag::ab,    Tag::abc,
                                        Tag::abcd,  Tag::abcde, Tag::abcdef};
  return kTags.at(rank);
}

Tag channels_last(size_t rank) {
  constexpr std::array<Tag, 6> kTags = {Tag::undef, Tag::undef, Tag::undef,
                                        Tag::acb,   Tag::acdb,  Tag::acdeb};
  return kTags.at(rank);
}

Desc desc_of(const Dims& dims, bool is_channels_last, dnnl::memory::data_type type) {
  const bool is_either = dims[1] == 1 || std::all_of(dims.begin() + 2, dims.end(),
                                                     [](int64_t extent) { return extent == 1; });
  return {dims, type,
          is_channels_last || is_either ? channels_last(dims.size()) : dense(dims.size())};
}

void Launch::run(const dnnl::stream& stream) const {
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()),
                             arguments_.data()),
      "could not execute a primitive");
}

bool is_fast(const dnnl::primitive_desc_base& description) {
  return is_optimized(description) &&
         std::string_view(description.impl_info_str()).find("gemm") == std::string_view::npos;
}

}  // namespace gantry::x86
