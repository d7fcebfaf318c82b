// SPDX-License-Identifier: Apache-2.0
// What this process holds beside memory: descriptors and children, which nothing that fails may
// leave behind.
#pragma once

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

namespace gantry::test {

class LeftBehind {
 public:
  /// What is there now is not counted.
  LeftBehind() : descriptors_(descriptors()), children_(children()) {}
  void expect_nothing() const {
    EXPECT_EQ(descriptors(), descriptors_) << "descriptors were left behind";
    EXPECT_EQ(children(), children_) << "processes were left behind";
  }

 private:
  static ptrdiff_t descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  }
  // Those that nobody has waited for too.
  static std::string children() {
    std::string all;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream file(thread.path() / "children");
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  }

  ptrdiff_t descriptors_;
  std::string children_;
};

}  // namespace gantry::test
