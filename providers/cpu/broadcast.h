// SPDX-License-Identifier: Apache-2.0
// Multidirectional broadcasting of N dense tensors, as a loop nest over the output with as few axes
// as possible: the innermost axis has stride 0 or 1 in every input, so equal shapes and scalars are
// one plain loop. Made per run, on the stack.
#pragma once

#include <gantry/sdk/error.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace gantry::cpu {

/// Tensors of higher rank are an UNSUPPORTED error.
inline constexpr int kMaxRank = 64;

/// Throws UNSUPPORTED if `rank` is above kMaxRank.
inline void check_rank(int rank, std::string_view label) {
  if (rank > kMaxRank) {
    throw sdk::Error(GANTRY_UNSUPPORTED, std::string(label) + ": rank " + std::to_string(rank) +
                                             " is above the supported " + std::to_string(kMaxRank));
  }
}

/// Product of the extents, 0 if one is 0. Throws INVALID_ARGUMENT if an extent is negative or the
/// product overflows int64.
inline int64_t checked_count(const int64_t* extents, int rank, std::string_view label) {
  int64_t count = 1;
  bool is_empty = false;
  bool overflows = false;
  for (int i = 0; i < rank; ++i) {
    overflows |= extents[i] < 0;
    is_empty |= extents[i] == 0;
  }
  for (int i = 0; i < rank && !is_empty; ++i)
    overflows |= __builtin_mul_overflow(count, extents[i], &count);
  if (overflows) {
    throw sdk::Error(
        GANTRY_INVALID_ARGUMENT,
        std::string(label) +
            ": an output extent is negative or the output has more than 2^63 elements");
  }
  return is_empty ? 0 : count;
}

/// The loop nest for one broadcast of `kInputs` shapes. Offsets and strides are in elements.
template <int kInputs>
class Broadcast {
 public:
  /// A run of consecutive output elements along the innermost axis.
  struct Run {
    int64_t count;            ///< output elements
    int64_t output;           ///< first output element
    int64_t inputs[kInputs];  ///< first element of each input
  };

  /// Throws, with `label` as the subject: INVALID_ARGUMENT if the shapes cannot be broadcast or the
  /// result has more than 2^63 elements; UNSUPPORTED above kMaxRank.
  Broadcast(const sdk::Shape (&shapes)[kInputs], std::string_view label) {
    for (const sdk::Shape& shape : shapes) rank_ = shape.rank > rank_ ? shape.rank : rank_;
    check_rank(rank_, label);
    join(shapes, label);
    count_ = checked_count(shape_, rank_, label);
    collapse(shapes);
  }

  /// Shape of the result; valid as long as this object.
  [[nodiscard]] sdk::Shape shape() const { return {shape_, rank_}; }
  [[nodiscard]] int64_t count() const { return count_; }
  /// Length of the innermost loop, at most count().
  [[nodiscard]] int64_t inner() const { return extents_[axes_ - 1]; }
  /// Stride of input `k` along the innermost loop: 0 or 1.
  [[nodiscard]] int64_t inner_stride(int k) const { return strides_[k][axes_ - 1]; }
  /// True if one loop covers the whole output.
  [[nodiscard]] bool is_flat() const { return axes_ == 1; }

  /// Calls visit(const Run&) for the output elements [begin, end), in order, in runs of at most
  /// inner() elements.
  template <class Visit>
  void for_each_run(int64_t begin, int64_t end, Visit&& visit) const {
    if (begin >= end) return;
    const int last = axes_ - 1;
    int64_t index[kMaxRank];
    Run run = {};
    run.output = begin;
    locate(begin, index, run);
    for (;;) {
      const int64_t left_in_row = extents_[last] - index[last];
      run.count = left_in_row < end - run.output ? left_in_row : end - run.output;
      visit(static_cast<const Run&>(run));
      run.output += run.count;
      if (run.output >= end) return;
      for (int k = 0; k < kInputs; ++k) run.inputs[k] -= index[last] * strides_[k][last];
      index[last] = 0;
      advance(index, run);
    }
  }

 private:
  /// Sets shape_ to the common shape.
  void join(const sdk::Shape (&shapes)[kInputs], std::string_view label) {
    for (int axis = 0; axis < rank_; ++axis) {
      int64_t extent = 1;
      for (const sdk::Shape& shape : shapes) {
        const int64_t own = extent_of(shape, axis);
        if (own == 1 || own == extent) continue;
        if (extent != 1) fail(shapes, label);
        extent = own;
      }
      shape_[axis] = extent;
    }
  }

  [[nodiscard]] int64_t extent_of(const sdk::Shape& shape, int axis) const {
    const int own_axis = axis - (rank_ - shape.rank);
    return own_axis < 0 ? 1 : shape[own_axis];
  }

  /// Merges neighbouring axes that every input either broadcasts or reads contiguously.
  void collapse(const sdk::Shape (&shapes)[kInputs]) {
    int64_t weight[kInputs];
    for (int64_t& w : weight) w = 1;
    int reversed = 0;
    bool previous[kInputs] = {};
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      const int64_t extent = shape_[axis];
      if (extent == 1) continue;
      bool spread[kInputs];
      bool same = reversed > 0;
      for (int k = 0; k < kInputs; ++k) {
        spread[k] = extent_of(shapes[k], axis) != 1;
        same = same && spread[k] == previous[k];
      }
      if (same) {
        extents_[reversed - 1] *= extent;
      } else {
        extents_[reversed] = extent;
        for (int k = 0; k < kInputs; ++k) strides_[k][reversed] = spread[k] ? weight[k] : 0;
        ++reversed;
      }
      for (int k = 0; k < kInputs; ++k) {
        weight[k] *= spread[k] ? extent : 1;
        previous[k] = spread[k];
      }
    }
    if (reversed == 0) {
      extents_[0] = 1;
      for (int k = 0; k < kInputs; ++k) strides_[k][0] = 1;
      reversed = 1;
    }
    axes_ = reversed;
    reverse();
  }
  void reverse() {
    for (int low = 0, high = axes_ - 1; low < high; ++low, --high) {
      std::swap(extents_[low], extents_[high]);
      for (int k = 0; k < kInputs; ++k) std::swap(strides_[k][low], strides_[k][high]);
    }
  }

  void locate(int64_t position, int64_t* index, Run& run) const {
    for (int axis = axes_ - 1; axis >= 0; --axis) {
      index[axis] = axis > 0 ? position % extents_[axis] : position;
      if (axis > 0) position /= extents_[axis];
      for (int k = 0; k < kInputs; ++k) run.inputs[k] += index[axis] * strides_[k][axis];
    }
  }
  /// Advances to the next row along the innermost axis.
  void advance(int64_t* index, Run& run) const {
    for (int axis = axes_ - 2; axis >= 0; --axis) {
      for (int k = 0; k < kInputs; ++k) run.inputs[k] += strides_[k][axis];
      if (++index[axis] < extents_[axis]) return;
      for (int k = 0; k < kInputs; ++k) run.inputs[k] -= extents_[axis] * strides_[k][axis];
      index[axis] = 0;
    }
  }

  [[noreturn]] static void fail(const sdk::Shape (&shapes)[kInputs], std::string_view label) {
    std::string text = std::string(label) + ": the input shapes";
    for (const sdk::Shape& shape : shapes) {
      text += " [";
      for (int i = 0; i < shape.rank; ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
      text += "]";
    }
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     text + " cannot be broadcast together: extents of an axis must be equal or 1");
  }

  int rank_ = 0;
  int axes_ = 1;
  int64_t count_ = 0;
  int64_t shape_[kMaxRank];
  int64_t extents_[kMaxRank];
  int64_t strides_[kInputs][kMaxRank];
};

}  // namespace gantry::cpu
