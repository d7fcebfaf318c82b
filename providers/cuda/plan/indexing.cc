// SPDX-License-Identifier: Apache-2.0
#include "plan/indexing.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <bit>
#include <string>

namespace gantry::cuda {

Divisor divisor_of(int64_t divisor) {
  if (divisor <= 0 || divisor >= int64_t{1} << 31) {
    throw sdk::Error(GANTRY_UNSUPPORTED, "an axis of " + std::to_string(divisor) +
                                             " elements is too long for a kernel");
  }
  const auto d = static_cast<uint64_t>(divisor);
  const auto shift = static_cast<unsigned>(std::bit_width(d - 1));
  const uint64_t multiplier = (((uint64_t{1} << shift) - d) << 32) / d + 1;
  return {static_cast<unsigned>(d), static_cast<unsigned>(multiplier), shift};
}

void Walk::simplify() {
  Extents merged_extents;
  std::vector<Extents> merged(strides.size());
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 1) continue;
    bool merges = !merged_extents.empty();
    for (size_t t = 0; merges && t < strides.size(); ++t)
      merges = merged[t].back() == strides[t][axis] * extents[axis];
    if (merges) {
      merged_extents.back() *= extents[axis];
    } else {
      merged_extents.push_back(extents[axis]);
    }
    for (size_t t = 0; t < strides.size(); ++t) {
      if (merges) {
        merged[t].back() = strides[t][axis];
      } else {
        merged[t].push_back(strides[t][axis]);
      }
    }
  }
  if (merged_extents.empty()) {
    merged_extents = {1};
    for (Extents& one : merged) one = {0};
  }
  if (merged_extents.size() > MOST_AXES) {
    throw sdk::Error(GANTRY_UNSUPPORTED, "a tensor that is indexed along " +
                                             std::to_string(merged_extents.size()) +
                                             " axes, more than " + std::to_string(MOST_AXES));
  }
  extents = std::move(merged_extents);
  strides = std::move(merged);
}

bool Walk::is_small() const { return count() < int64_t{1} << 31; }

void Walk::write_extents(Divisor* out_divisors) const {
  // Nothing is divided by the outermost extent, so it may exceed 31 bits.
  out_divisors[0] = {};
  for (size_t axis = 1; axis < extents.size(); ++axis)
    out_divisors[axis] = divisor_of(std::max<int64_t>(extents[axis], 1));
}

void Walk::write_strides(size_t tensor, Offset* out_strides) const {
  std::copy(strides[tensor].begin(), strides[tensor].end(), out_strides);
}

const char* index_type(bool is_small) { return is_small ? "u32" : "u64"; }

}  // namespace gantry::cuda
