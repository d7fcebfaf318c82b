// SPDX-License-Identifier: Apache-2.0
#include "onednn/digest.h"

#include <algorithm>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // the library's functions for the widest vectors of the processor
#else
#include <xxhash.h>
#endif

namespace gantry::x86 {
namespace {

constexpr uint64_t kChunk = 256 << 10;  // fits a core's L2 cache

Digest digest(const void* data, uint64_t size_bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, size_bytes);
  return {hash.low64, hash.high64};
}

void append(std::string& text, const Dims& numbers) {
  for (const int64_t x : numbers) text += std::to_string(x) + ",";
  text += ";";
}

}  // namespace

Digest digest_of(const void* data, uint64_t size_bytes, std::string_view text) {
  const auto* bytes = static_cast<const std::byte*>(data);
  std::vector<Digest> chunks((size_bytes + kChunk - 1) / kChunk + 1);
  chunks.back() = digest(text.data(), text.size());
  const auto take = [&](int64_t index) {
    const auto i = static_cast<uint64_t>(index);
    chunks[i] = digest(bytes + i * kChunk, std::min(kChunk, size_bytes - i * kChunk));
  };
  const auto count = static_cast<int64_t>(chunks.size() - 1);
  if (count > 1) {
    with_threads(machine_threads(), [&] { for_each(count, take); });
  } else if (count == 1) {  // not worth waking threads
    take(0);
  }
  return digest(chunks.data(), chunks.size() * sizeof(Digest));
}

std::string text_of(const Desc& desc) {
  std::string text = std::to_string(static_cast<int>(desc.get_data_type())) + "/" +
                     std::to_string(static_cast<int>(desc.get_format_kind())) + "/" +
                     std::to_string(desc.get_size()) + ":";
  append(text, desc.get_dims());
  append(text, desc.get_padded_dims());
  append(text, desc.get_padded_offsets());
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return text;
  append(text, desc.get_strides());
  append(text, desc.get_inner_blks());
  append(text, desc.get_inner_idxs());
  return text;
}

}  // namespace gantry::x86
