// SPDX-License-Identifier: Apache-2.0
// Index tensors of the Gather and Scatter operators: reads int64 or int32, checks ranges, and maps
// an index to the offset of a data element. These are views of the run's inputs, valid until run()
// returns; any thread may read them.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "dims.h"
#include "simd/index_math.h"

namespace gantry::cpu {

/// The elements of an int64 or int32 input, as int64. A negative index counts from the end. Throws
/// INVALID_ARGUMENT for another element type.
class Indices {
 public:
  Indices(sdk::Call& call, int slot) : Indices(call.input(slot).dtype, call.input(slot).data) {}
  /// The elements at `data`.
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
  /// True if element i lies in [-extent, extent).
  [[nodiscard]] bool is_within(int64_t i, int64_t extent) const {
    const int64_t index = (*this)[i];
    return index >= -extent && index < extent;
  }
  /// True if the first `count` elements lie in [-extent, extent). One pass without branches, cheap
  /// enough to check before the work.
  [[nodiscard]] bool are_within(int64_t count, int64_t extent) const {
    return are_within(0, count, extent);
  }
  /// True if the elements [begin, end) lie in [-extent, extent).
  [[nodiscard]] bool are_within(int64_t begin, int64_t end, int64_t extent) const {
    return wide_ ? are_within(wide_ + begin, end - begin, extent)
                 : are_within(narrow_ + begin, end - begin, extent);
  }
  /// Writes the elements [begin, end), wrapped to [0, extent), to `wrapped`, with SIMD. Returns
  /// false if an element is out of range; its result is then any value in [0, extent). Requires 0 <
  /// extent < 2^31.
  bool wrap(int64_t begin, int64_t end, int64_t extent, int32_t* wrapped) const {
    return wide_ ? simd::wrap_indices(wide_ + begin, end - begin, extent, wrapped)
                 : simd::wrap_indices(narrow_ + begin, end - begin, extent, wrapped);
  }
  /// Calls take(elements) with a pointer to the elements' own type.
  template <class Take>
  void with_elements(Take&& take) const {
    wide_ ? take(wide_) : take(narrow_);
  }
  /// Element i wrapped to [0, extent). Requires is_within(i, extent).
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

/// True if `indices` has the rank of `data` and is no larger than it on every axis but `axis`.
inline bool fits_elements(sdk::Shape data, sdk::Shape indices, int axis) {
  bool fits = indices.rank == data.rank;
  for (int i = 0; fits && i < data.rank; ++i) fits = i == axis || indices[i] <= data[i];
  return fits;
}

/// Offsets of GatherElements and ScatterElements: element i of the index tensor selects the data
/// element at the same position, except that its position on `axis` is the index. Requires
/// fits_elements(data, indices, axis).
class ElementOffsets {
 public:
  ElementOffsets(sdk::Shape data, sdk::Shape indices, int axis)
      : axis_(axis), extent_(data[axis]), shape_(indices), strides_(dense_strides(data)) {}

  /// Calls visit(i, offset) for the index elements [begin, end); `offset` is in elements of the
  /// data. Requires indices in range.
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
  /// The same for indices that are already in [0, extent): wrapped[0] is the index of element
  /// `begin`.
  template <class Visit>
  void for_each(const int32_t* wrapped, int64_t begin, int64_t end, Visit&& visit) const {
    for_each_at(begin, end, visit, [&](int64_t i) { return int64_t{wrapped[i - begin]}; });
  }

 private:
  /// at(i) is the index of element i, in [0, extent).
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
