// SPDX-License-Identifier: Apache-2.0
// Finds the index of an integer in a list: categories, keys, vocabularies. Immutable, any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gantry::cpu {

/// Maps each integer of a list to its index; of equal integers the last index counts. Lists with
/// few gaps are looked up in a table, others in a hash map.
class IntegerPositions {
 public:
  static constexpr int64_t kNone = -1;

  IntegerPositions() = default;
  explicit IntegerPositions(const std::vector<int64_t>& keys) {
    if (keys.empty()) return;
    const auto [least, greatest] = std::minmax_element(keys.begin(), keys.end());
    const uint64_t span = static_cast<uint64_t>(*greatest) - static_cast<uint64_t>(*least);
    int64_t position = 0;
    if (span > 4 * keys.size() + kFewGaps) {
      for (const int64_t key : keys) hashed_[key] = position++;
      return;
    }
    least_ = static_cast<uint64_t>(*least);
    table_.assign(static_cast<size_t>(span) + 1, kNone);
    for (const int64_t key : keys)
      table_[static_cast<size_t>(static_cast<uint64_t>(key) - least_)] = position++;
  }

  /// Index of `key` in the list, or kNone.
  [[nodiscard]] int64_t find(int64_t key) const {
    const uint64_t offset = static_cast<uint64_t>(key) - least_;
    if (offset < table_.size()) return table_[static_cast<size_t>(offset)];
    if (hashed_.empty()) return kNone;
    const auto found = hashed_.find(key);
    return found == hashed_.end() ? kNone : found->second;
  }

 private:
  static constexpr uint64_t kFewGaps = 4096;

  std::vector<int64_t> table_;  ///< indices of the integers from least_ on
  uint64_t least_ = 0;
  std::unordered_map<int64_t, int64_t> hashed_;  ///< if the table is empty
};

}  // namespace gantry::cpu
