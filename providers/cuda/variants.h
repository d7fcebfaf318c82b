// SPDX-License-Identifier: Apache-2.0
// How many variants there have been of what is alike but for some extents, as products by a matrix
// are whose other factor is as long as a prompt. Timing the libraries' ways for each of them would
// cost more than the fastest of them saves, and without end. One thread at a time.
#pragma once

#include <map>
#include <string>

namespace gantry::cuda {

class Variants {
 public:
  explicit Variants(int most) : most_(most) {}

  /// Notes another variant of `family`; whether it is one of the first.
  bool is_one_of_the_first(const std::string& family) {
    int& count = counts_[family];
    if (count == most_) return false;
    ++count;
    return true;
  }

 private:
  const int most_;
  std::map<std::string, int> counts_;
};

}  // namespace gantry::cuda
