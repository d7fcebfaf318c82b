// SPDX-License-Identifier: Apache-2.0
// What attention reads: heads with strides, an additive mask and the keys that it leaves, and keys
// or values of a past with those that are added.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace gantry::cpu {

/// Layout of an operand: [batch, heads, length, width] with strides in elements; rows are dense.
struct Heads {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t length = 0;
  int64_t width = 0;
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t row_stride = 0;

  [[nodiscard]] int64_t offset(int64_t b, int64_t h) const {
    return b * batch_stride + h * head_stride;
  }
  /// Dense, in this order.
  static Heads dense(int64_t batch, int64_t heads, int64_t length, int64_t width) {
    return {batch, heads, length, width, heads * length * width, length * width, width};
  }
};

/// Keys [begin, end).
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  [[nodiscard]] bool is_empty() const { return begin >= end; }
};

/// The keys that a row of the mask leaves: those whose number is above `none`.
template <class C>
Range left_by(const C* row, int64_t keys, C none) {
  constexpr C kNone = -std::numeric_limits<C>::infinity();
  const auto is_left = [none](C added) { return !(added <= none); };
  const C* end = row + keys;
  const C* first = std::find_if(row, end, is_left);
  if (first == end) {  // finite numbers leave the shares of a softmax as they are
    const bool is_masked = std::all_of(row, end, [](C added) { return added == kNone; });
    return {0, is_masked ? 0 : keys};
  }
  const C* last = end - 1;
  while (!is_left(*last)) --last;
  return {first - row, last - row + 1};
}

/// The additive mask of the scores, broadcast to [batch, heads, queries, keys].
template <class C>
struct Bias {
  const C* data = nullptr;
  const Range* left = nullptr;     ///< of each row of the mask
  int64_t strides[3] = {0, 0, 0};  ///< of batch, head and query
  int64_t keys = 0;                ///< keys from this index on are masked

  [[nodiscard]] const C* row(int64_t b, int64_t h, int64_t q) const {
    return data + offset(b, h, q);
  }
  /// The keys that some of `rows` queries from `q` on have left.
  [[nodiscard]] Range left_of(int64_t b, int64_t h, int64_t q, int64_t rows) const {
    Range all{keys, 0};
    for (int64_t i = q; i < q + rows; ++i) {
      const Range& one = left[offset(b, h, i) / keys];
      if (one.is_empty()) continue;
      all = {std::min(all.begin, one.begin), std::max(all.end, one.end)};
    }
    return all;
  }

 private:
  [[nodiscard]] int64_t offset(int64_t b, int64_t h, int64_t q) const {
    return b * strides[0] + h * strides[1] + q * strides[2];
  }
};

/// Keys or values: rows of a past, if there is one, and behind them the added ones.
template <class T>
struct Joined {
  Heads heads;              ///< layout of `data`
  const T* data = nullptr;  ///< `target`, or the added rows where they are
  T* target = nullptr;      ///< null: there is nothing to copy
  Heads added;
  const T* added_data = nullptr;
  const T* past_data = nullptr;  ///< [batch, heads, before, width]
  int64_t before = 0;

  void copy_head(int64_t b, int64_t h) const {
    if (!target) return;
    T* to = target + heads.offset(b, h);
    const int64_t past = before * heads.width;
    if (past > 0) std::copy_n(past_data + (b * heads.heads + h) * past, past, to);
    const T* from = added_data + added.offset(b, h);
    for (int64_t i = 0; i < added.length; ++i)
      std::copy_n(from + i * added.row_stride, heads.width, to + past + i * heads.width);
  }
};

}  // namespace gantry::cpu
