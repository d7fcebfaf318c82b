// SPDX-License-Identifier: Apache-2.0
#include "artefact/content_sum.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <sys/mman.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // selects the implementation for the widest vectors of the CPU
#else
#include <xxhash.h>
#endif

namespace gantry {
namespace {

constexpr uint32_t kMostThreads = 4;  // enough to reach the memory bandwidth

// Releases the whole pages of a chunk; a later read loads them from the file again.
void give_back(const std::byte* begin, uint64_t size_bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page;
  const auto last = (reinterpret_cast<uintptr_t>(begin) + size_bytes) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace

uint64_t sum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::vector<uint64_t> chunk_sums(std::span<const std::byte> bytes, uint32_t threads, bool forget) {
  std::vector<uint64_t> sums((bytes.size() + kSumChunk - 1) / kSumChunk);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < sums.size(); i = next++) {
      const auto chunk =
          bytes.subspan(i * kSumChunk, std::min(kSumChunk, bytes.size() - i * kSumChunk));
      sums[i] = sum_of(chunk);
      if (forget) give_back(chunk.data(), chunk.size());
    }
  };
  std::vector<std::jthread> helpers;
  try {
    const size_t wanted = std::min<size_t>({threads, kMostThreads, sums.size()});
    while (helpers.size() + 1 < wanted) helpers.emplace_back(work);
  } catch (const std::system_error&) {  // continues with the threads that could be started
  }
  work();
  helpers.clear();  // joins
  return sums;
}

std::string digest_text(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  std::array<char, 33> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx%016llx",
                static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return hex.data();
}

std::string content_digest(std::span<const std::byte> bytes, uint32_t threads, bool forget) {
  const std::vector<uint64_t> sums = chunk_sums(bytes, threads, forget);
  std::string all(reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(uint64_t));
  return digest_text(all + std::to_string(bytes.size()));
}

}  // namespace gantry
