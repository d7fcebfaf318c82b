// SPDX-License-Identifier: Apache-2.0
#include "int8/byte_panels.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kLineBytes = 64;
constexpr int kMostOfPair = 128;
constexpr int64_t kQuadBytes = kWidenedPanel * 4;
constexpr int64_t kHalfBytes = kHalfPanel * 4;

/// With different signs the products partly cancel, so that the test holds for any signs.
bool may_saturate(const int8_t* pair) {
  return std::abs(int{pair[0]} + int{pair[1]}) > kMostOfPair;
}

/// True if a pair of half a quad may saturate.
bool may_saturate_in(const int8_t* half) {
  for (int64_t i = 0; i < kHalfBytes; i += 2) {
    if (may_saturate(half + i)) return true;
  }
  return false;
}

int64_t lines(int64_t bytes) { return divided_up(bytes, kLineBytes) * kLineBytes; }

}  // namespace

int32_t count_extras(const int8_t* panel, int64_t half, int64_t quads) {
  int32_t count = 0;
  for (int64_t quad = 0; quad < quads; ++quad)
    count += may_saturate_in(panel + quad * kQuadBytes + half * kHalfBytes) ? 1 : 0;
  return count;
}

BytePanelsLayout::BytePanelsLayout(int64_t quads, const ExtraCounts& extras)
    : quads_(quads), panels_(static_cast<int64_t>(extras.size()) / 2) {
  int32_t end = 0;
  for (const int32_t count : extras) ends_.push_back(end += count);
  extra_count_ = end;
  sums_ = panels_ * quads_ * kQuadBytes;
  ends_position_ = sums_ + panels_ * kWidenedPanel * int64_t{sizeof(int32_t)};
  extra_quads_ = lines(ends_position_ + panels_ * 2 * int64_t{sizeof(int32_t)});
  extra_weights_ = lines(extra_quads_ + extra_count_ * int64_t{sizeof(int32_t)});
}

BytePanelsLayout::BytePanelsLayout(int64_t quads, int64_t panels)
    : BytePanelsLayout(quads, ExtraCounts(static_cast<size_t>(2 * panels), 0)) {
  are_whole_ = true;
}

int64_t BytePanelsLayout::size_bytes() const { return extra_weights_ + extra_count_ * kHalfBytes; }

BytePanels BytePanelsLayout::of(const void* memory) const {
  const auto* bytes = static_cast<const std::byte*>(memory);
  return {reinterpret_cast<const int8_t*>(bytes),
          reinterpret_cast<const int32_t*>(bytes + sums_),
          reinterpret_cast<const int32_t*>(bytes + ends_position_),
          reinterpret_cast<const int32_t*>(bytes + extra_quads_),
          reinterpret_cast<const int8_t*>(bytes + extra_weights_),
          are_whole_};
}

void BytePanelsLayout::pack(void* memory, int64_t index) const {
  auto* bytes = static_cast<std::byte*>(memory);
  auto* sums = reinterpret_cast<int32_t*>(bytes + sums_) + index * kWidenedPanel;
  std::fill_n(sums, kWidenedPanel, 0);
  for (int64_t quad = 0; quad < quads_; ++quad) {
    const int8_t* const weights = panel(memory, index) + quad * kQuadBytes;
    for (int64_t i = 0; i < kQuadBytes; ++i) sums[i / 4] += weights[i];
  }
  for (int64_t half = 2 * index; half < 2 * index + 2; ++half) {
    const auto position = static_cast<size_t>(half);
    reinterpret_cast<int32_t*>(bytes + ends_position_)[half] = ends_[position];
    auto extra = half > 0 ? int64_t{ends_[position - 1]} : 0;
    for (int64_t quad = 0; quad < quads_; ++quad) {
      int8_t* const weights = panel(memory, index) + quad * kQuadBytes + half % 2 * kHalfBytes;
      if (are_whole_ || !may_saturate_in(weights)) continue;
      if (extra == ends_[position]) {
        throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                         "int8 weights have more pairs that could saturate than was kept of them");
      }
      reinterpret_cast<int32_t*>(bytes + extra_quads_)[extra] = static_cast<int32_t>(quad);
      auto* apart = reinterpret_cast<int8_t*>(bytes + extra_weights_) + extra * kHalfBytes;
      std::memset(apart, 0, kHalfBytes);
      for (int64_t i = 0; i < kHalfBytes; i += 2) {
        if (may_saturate(weights + i)) std::swap(weights[i + 1], apart[i + 1]);
      }
      ++extra;
    }
  }
}

}  // namespace gantry::x86
