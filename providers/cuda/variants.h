// SPDX-License-Identifier: Apache-2.0
// How many variants there have been of what is alike but for some extents, as products by a matrix
// are whose other factor is as long as a prompt. Timing the libraries' ways for each of them would
// cost more than the fastest of them saves, and without end. One thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gantry::cuda {

/// How many variants of a product are timed.
constexpr int kMostProductVariants = 32;

class Variants {
 public:
  explicit Variants(int most) : most_(most) {}

  /// Notes another variant of each of `families`; whether it is one of the first of all.
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
