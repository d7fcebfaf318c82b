// SPDX-License-Identifier: Apache-2.0
// Sort keys: order_key(a) < order_key(b) if a sorts before b, equal if they are equal. NaN sorts
// last and equals NaN; the zeros are equal. Pure, any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "types.h"

namespace gantry::cpu {

/// The type of the keys of T: int32_t for T of at most 32 bits, else int64_t.
template <class T>
using OrderKey = std::conditional_t<sizeof(T) <= 4, int32_t, int64_t>;

template <class T>
OrderKey<T> order_key(T x) {
  using K = OrderKey<T>;
  constexpr int kBits = 8 * sizeof(K);
  if constexpr (std::is_floating_point_v<T>) {
    // Adding 0 makes the zeros one; below 0 more bits are a smaller number.
    const auto bits = std::bit_cast<K>(x + T{0});
    const K key = bits ^ ((bits >> (kBits - 1)) & std::numeric_limits<K>::max());
    return x != x ? std::numeric_limits<K>::max() : key;
  } else if constexpr (!std::is_same_v<T, Compute<T>>) {
    return order_key(static_cast<Compute<T>>(x));
  } else if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(K)) {
    return static_cast<K>(x ^ (T{1} << (kBits - 1)));
  } else {
    return static_cast<K>(x);
  }
}

/// Packs a 32-bit key and an index below 2^32 into one integer that orders by key, then by
/// descending index.
inline int64_t keyed_index(int32_t key, int64_t index) {
  const auto high = static_cast<uint64_t>(static_cast<uint32_t>(key)) << 32;
  return static_cast<int64_t>(high | (0xFFFFFFFFU - static_cast<uint64_t>(index)));
}
inline int32_t key_of(int64_t keyed) { return static_cast<int32_t>(keyed >> 32); }
inline int64_t index_of(int64_t keyed) {
  return static_cast<int64_t>(0xFFFFFFFFU - (static_cast<uint64_t>(keyed) & 0xFFFFFFFFU));
}

}  // namespace gantry::cpu
