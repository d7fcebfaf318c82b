// SPDX-License-Identifier: Apache-2.0
// Digests of large bytes at the speed of memory. They find damage and tell contents apart by
// accident; they are no defence against forgery (docs/decisions/0027). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

/// Bytes that share a sum.
inline constexpr uint64_t kSumChunk = uint64_t{1} << 20;

/// The sum of each chunk, the last one shorter, made on up to `threads` threads. `forget`: the
/// bytes are of a file mapped read-only; each chunk's memory is given back when it has been read.
std::vector<uint64_t> chunk_sums(std::span<const std::byte> bytes, uint32_t threads, bool forget);

/// Of a few bytes.
uint64_t sum_of(std::span<const std::byte> bytes);
/// 32 lower-case hex digits.
std::string digest_text(std::string_view text);
/// Of all bytes, by their chunks: 32 lower-case hex digits.
std::string content_digest(std::span<const std::byte> bytes, uint32_t threads, bool forget);

}  // namespace gantry
