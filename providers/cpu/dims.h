// SPDX-License-Identifier: Apache-2.0
// Lists of extents, strides or axes on the stack, so that kernels that compute shapes allocate
// nothing in a run. A plain value.
#pragma once

#include <gantry/sdk/error.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <string>

#include "broadcast.h"

namespace gantry::cpu {

/// Up to kMaxRank int64 values. Elements that were never written are unspecified.
class Dims {
 public:
  // Initialising one element avoids an uninitialised-use warning when an empty list is passed on.
  Dims() { data_[0] = 0; }
  /// `rank` copies of `value`. Throws UNSUPPORTED above kMaxRank.
  Dims(int64_t rank, int64_t value) : Dims() {
    resize(rank);
    for (int i = 0; i < rank_; ++i) data_[i] = value;
  }
  explicit Dims(sdk::Shape shape) : Dims() {
    resize(shape.rank);
    for (int i = 0; i < rank_; ++i) data_[i] = shape[i];
  }
  Dims(const Dims& other) : Dims() { *this = other; }
  Dims& operator=(const Dims& other) {
    if (this == &other) return *this;
    rank_ = other.rank_;
    for (int i = 0; i < rank_; ++i) data_[i] = other.data_[i];
    return *this;
  }

  /// Throws UNSUPPORTED above kMaxRank.
  void resize(int64_t rank) {
    if (rank < 0 || rank > kMaxRank) {
      throw sdk::Error(GANTRY_UNSUPPORTED, "a tensor of rank " + std::to_string(rank) +
                                               " is above the supported " +
                                               std::to_string(kMaxRank));
    }
    rank_ = static_cast<int>(rank);
  }
  void push(int64_t value) {
    resize(rank_ + 1);
    data_[rank_ - 1] = value;
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int64_t* data() { return data_; }
  [[nodiscard]] const int64_t* data() const { return data_; }
  int64_t& operator[](int i) { return data_[i]; }
  int64_t operator[](int i) const { return data_[i]; }
  [[nodiscard]] int64_t back() const { return data_[rank_ - 1]; }
  [[nodiscard]] sdk::Shape shape() const { return {data_, rank_}; }

 private:
  int rank_ = 0;
  int64_t data_[kMaxRank];
};

/// Strides in elements of a dense tensor.
inline Dims dense_strides(sdk::Shape shape) {
  Dims strides;
  strides.resize(shape.rank);
  int64_t stride = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

/// "[2, 3, 4]"
inline std::string to_string(sdk::Shape shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank; ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace gantry::cpu
