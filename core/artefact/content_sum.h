// SPDX-License-Identifier: Apache-2.0
// Fast checksums and digests (XXH3) at memory bandwidth. They detect damage and distinguish
// contents, but are no defence against forgery (docs/decisions/0027). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

/// Bytes per checksum.
inline constexpr uint64_t kSumChunk = uint64_t{1} << 20;

/// The checksum of each chunk, on up to `threads` threads; the last chunk may be shorter. `forget`:
/// the bytes are of a file mapped read-only, and the pages of each chunk are released after
/// reading.
std::vector<uint64_t> chunk_sums(std::span<const std::byte> bytes, uint32_t threads, bool forget);

/// The checksum of a few bytes.
uint64_t sum_of(std::span<const std::byte> bytes);
/// The digest of a text: 32 lower-case hex digits.
std::string digest_text(std::string_view text);
/// The digest of all bytes, computed from their chunks' checksums: 32 lower-case hex digits.
std::string content_digest(std::span<const std::byte> bytes, uint32_t threads, bool forget);

}  // namespace gantry
