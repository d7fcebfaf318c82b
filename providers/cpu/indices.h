// SPDX-License-Identifier: Apache-2.0
// Index tensors of Gather and Scatter: reads either integer type, checks the range, and maps each
// index to the offset of an element of the data. Views into the run's inputs; bodies of
// parallel_for may read them.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "dims.h"
#include "kernels/index_math.h"

namespace gantry::cpu {

/// The elements of an int64 or int32 input, as int64. A negative index counts from the end.
class Indices {
 public:
  Indices(sdk::Call& call, int slot) : Indices(call.input(slot).dtype, call.input(slot).data) {}
  /// The elements at `data` instead of an input's own.
  Indices(uint32_t dtype, const void* data)
      : wide_(dtype == GANTRY_INT64 ? static_cast<const int64_t*>(data) : nullptr),
        narrow_(dtype == GANTRY_INT32 ? static_cast<const int32_t*>(data) : nullptr) {
    if (dtype != GANTRY_INT64 && dtype != GANTRY_INT32) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "indices have element type " + std::to_string(dtype) +
                           " (ONNX TensorProto number), need int64 or int32");
    }
  }
  int64_t operator[](int64_t i) const { return wide_ ? wide_[i] : narrow_[i]; }
  [[nodiscard]] bool is_within(int64_t i, int64_t extent) const {
    const int64_t index = (*this)[i];
    return index >= -extent && index < extent;
  }
  /// The same of the first `count`; without branches, so that it costs little to ask first.
  [[nodiscard]] bool are_within(int64_t count, int64_t extent) const {
    return are_within(0, count, extent);
  }
  /// The same of those in [begin, end).
  [[nodiscard]] bool are_within(int64_t begin, int64_t end, int64_t extent) const {
    return wide_ ? are_within(wide_ + begin, end - begin, extent)
                 : are_within(narrow_ + begin, end - begin, extent);
  }
  /// Those in [begin, end) as numbers in [0, extent), in vectors; false if one is outside, whose
  /// number is then any below extent. Requires 0 < extent < 2^31.
  bool wrap(int64_t begin, int64_t end, int64_t extent, int32_t* wrapped) const {
    return wide_ ? simd::wrap_indices(wide_ + begin, end - begin, extent, wrapped)
                 : simd::wrap_indices(narrow_ + begin, end - begin, extent, wrapped);
  }
  /// take(pointer to the elements), of their own type.
  template <class Take>
  void with_elements(Take&& take) const {
    wide_ ? take(wide_) : take(narrow_);
  }
  /// Index in [0, extent). Requires is_within(i, extent).
  [[nodiscard]] int64_t wrapped(int64_t i, int64_t extent) const {
    const int64_t index = (*this)[i];
    return index < 0 ? index + extent : index;
  }

 private:
  template <class I>
  static bool are_within(const I* indices, int64_t count, int64_t extent) {
    const auto span = 2 * static_cast<uint64_t>(extent);
    uint64_t outside = 0;
    for (int64_t i = 0; i < count; ++i)
      outside |= static_cast<uint64_t>(static_cast<uint64_t>(indices[i] + extent) >= span);
    return outside == 0;
  }

  const int64_t* wide_;
  const int32_t* narrow_;
};

/// True if each element of `indices` has a counterpart in `data` on every axis but `axis`.
inline bool fits_elements(sdk::Shape data, sdk::Shape indices, int axis) {
  bool fits = indices.rank == data.rank;
  for (int i = 0; fits && i < data.rank; ++i) fits = i == axis || indices[i] <= data[i];
  return fits;
}

/// For each element of an index tensor the element of `data` at the same position, but on `axis` at
/// the index. Requires fits_elements(data, indices, axis).
class ElementOffsets {
 public:
  ElementOffsets(sdk::Shape data, sdk::Shape indices, int axis)
      : axis_(axis), extent_(data[axis]), shape_(indices), strides_(dense_strides(data)) {}

  /// visit(i, offset) for the index elements [begin, end).
  template <class Visit>
  void for_each(const Indices& indices, int64_t begin, int64_t end, Visit&& visit) const {
    const int64_t extent = extent_;
    indices.with_elements([&](const auto* elements) {
      for_each_at(begin, end, visit, [&](int64_t i) {
        const int64_t at = elements[i];
        return at < 0 ? at + extent : at;
      });
    });
  }
  /// The same of indices that were wrapped: `wrapped` has that of element `begin` first.
  template <class Visit>
  void for_each(const int32_t* wrapped, int64_t begin, int64_t end, Visit&& visit) const {
    for_each_at(begin, end, visit, [&](int64_t i) { return int64_t{wrapped[i - begin]}; });
  }

 private:
  /// at(i): the index of element i, in [0, extent).
  template <class Visit, class At>
  void for_each_at(int64_t begin, int64_t end, Visit& visit, At at) const {
    const int last = shape_.rank() - 1;
    int64_t index[kMaxRank];
    int64_t base = 0;
    int64_t rest = begin;
    for (int i = last; i >= 0; --i) {
      index[i] = rest % shape_[i];
      rest /= shape_[i];
      base += i == axis_ ? 0 : index[i] * strides_[i];
    }
    const int64_t step = last == axis_ ? 0 : strides_[last];
    const int64_t stride = strides_[axis_];
    for (int64_t i = begin; i < end;) {
      // The rest of a line along the last axis.
      const int64_t count = std::min(end - i, shape_[last] - index[last]);
      for (int64_t k = 0; k < count; ++k) visit(i + k, base + k * step + at(i + k) * stride);
      i += count;
      base -= index[last] * step;
      index[last] = 0;
      for (int k = last - 1; k >= 0; --k) {
        const int64_t outer = k == axis_ ? 0 : strides_[k];
        base += outer;
        if (++index[k] < shape_[k]) break;
        base -= shape_[k] * outer;
        index[k] = 0;
      }
    }
  }

  int axis_;
  int64_t extent_;
  Dims shape_;
  Dims strides_;
};

}  // namespace gantry::cpu
