// SPDX-License-Identifier: Apache-2.0
// Limits autotuning: counts the variants of an operation that differ in some extents only, such as
// matmuls whose row count follows the prompt length. Timing every one of them would cost more than
// it saves. One thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gantry::cuda {

/// Number of variants of a matmul that are timed.
constexpr int kMostMatmulVariants = 32;

class Variants {
 public:
  explicit Variants(int most) : most_(most) {}

  /// Counts a variant in each of `families`; true: none of them has reached the limit.
  bool is_one_of_the_first(const std::vector<std::string>& families) {
    bool is_first = true;
    for (const std::string& family : families) {
      int& count = counts_[family];
      if (count == most_) {
        is_first = false;
      } else {
        ++count;
      }
    }
    return is_first;
  }

 private:
  const int most_;
  std::map<std::string, int> counts_;
};

}  // namespace gantry::cuda
