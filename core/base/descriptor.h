// SPDX-License-Identifier: Apache-2.0
// Owns a file descriptor and closes it.
#pragma once

#include <unistd.h>
#include <utility>

namespace gantry {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }
  void reset() {
    if (number_ >= 0) close(std::exchange(number_, -1));
  }
  /// Negative: none.
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_ = -1;
};

}  // namespace gantry
