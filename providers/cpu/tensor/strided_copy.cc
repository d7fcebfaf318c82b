// SPDX-License-Identifier: Apache-2.0
#include "tensor/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "dims.h"
#include "dispatch.h"
#include "tensor/deinterleave.h"

namespace gantry::cpu {

namespace {

/// Bytes to copy below which another thread does not pay.
constexpr int64_t kCopyGrainBytes = 128 * 1024;
/// Edge of a transposed tile, in units. The source and the target tile fit the L1 cache together.
constexpr int64_t kTile = 16;
/// Columns of a strip, the unit of work of a thread in a transposed plane.
constexpr int64_t kStrip = 2048;

/// A unit at any address: merging axes may leave it less aligned than its size.
template <int kBytes>
struct UnitOf;
template <>
struct UnitOf<1> {
  using type = uint8_t;
};
template <>
struct UnitOf<2> {
  using type = uint16_t __attribute__((aligned(1), may_alias));
};
template <>
struct UnitOf<4> {
  using type = uint32_t __attribute__((aligned(1), may_alias));
};
template <>
struct UnitOf<8> {
  using type = uint64_t __attribute__((aligned(1), may_alias));
};
template <>
struct UnitOf<16> {
  struct Pair {
    UnitOf<8>::type low;
    UnitOf<8>::type high;
  };
  using type = Pair;
};

/// The copy after merging axes; strides in bytes.
struct CopyBox {
  int64_t unit = 1;
  Dims extents;
  Dims from;
  Dims to;

  [[nodiscard]] int last() const { return extents.rank() - 1; }
  void push(int64_t extent, int64_t from_stride, int64_t to_stride) {
    extents.push(extent);
    from.push(from_stride);
    to.push(to_stride);
  }
  void drop_last() {
    const int rank = last();
    extents.resize(rank);
    from.resize(rank);
    to.resize(rank);
  }
};

/// Returns false if there is nothing to copy.
bool merge_axes(CopyBox& box, sdk::Shape extents, const int64_t* from, const int64_t* to) {
  for (int i = 0; i < extents.rank; ++i) {
    if (extents[i] == 0) return false;
    if (extents[i] == 1) continue;
    const int64_t source = from[i] * box.unit;
    const int64_t target = to[i] * box.unit;
    const int last = box.last();
    if (last >= 0 && box.from[last] == source * extents[i] && box.to[last] == target * extents[i]) {
      box.extents[last] *= extents[i];
      box.from[last] = source;
      box.to[last] = target;
    } else {
      box.push(extents[i], source, target);
    }
  }
  return true;
}

/// Replaces a short contiguous run by one larger unit.
void widen_unit(CopyBox& box) {
  while (box.last() > 0 && box.from.back() == box.unit && box.to.back() == box.unit) {
    const int64_t bytes = box.extents.back() * box.unit;
    if (bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) return;
    box.unit = bytes;
    box.drop_last();
  }
}

/// Position in the outer axes [0, axes) of a box.
class Odometer {
 public:
  Odometer(const CopyBox& box, int axes, int64_t position, const char* source, char* target)
      : box_(box), axes_(axes), source_(source), target_(target) {
    for (int i = axes - 1; i >= 0; --i) {
      index_[i] = position % box.extents[i];
      position /= box.extents[i];
      source_ += index_[i] * box.from[i];
      target_ += index_[i] * box.to[i];
    }
  }
  void next() {
    for (int i = axes_ - 1; i >= 0; --i) {
      source_ += box_.from[i];
      target_ += box_.to[i];
      if (++index_[i] < box_.extents[i]) return;
      source_ -= box_.extents[i] * box_.from[i];
      target_ -= box_.extents[i] * box_.to[i];
      index_[i] = 0;
    }
  }
  [[nodiscard]] const char* source() const { return source_; }
  [[nodiscard]] char* target() const { return target_; }

 private:
  const CopyBox& box_;
  int axes_;
  const char* source_;
  char* target_;
  int64_t index_[kMaxRank];
};

/// Calls row(source, target) for every position in all axes but the last.
template <class Row>
void for_each_row(sdk::Call& call, const CopyBox& box, const char* source, char* target,
                  Row&& row) {
  const int outer = box.last();
  const int64_t rows = box.extents.shape().count(0, outer);
  const int64_t row_bytes = box.extents.back() * box.unit;
  call.parallel_for(rows, std::max<int64_t>(1, kCopyGrainBytes / row_bytes),
                    [&](int64_t begin, int64_t end) {
                      Odometer odometer(box, outer, begin, source, target);
                      for (int64_t i = begin; i < end; ++i, odometer.next())
                        row(odometer.source(), odometer.target());
                    });
}

template <int kBytes>
void copy_row(const char* source, int64_t from, char* target, int64_t to, int64_t count) {
  using U = typename UnitOf<kBytes>::type;
  if (from == 0 && to == kBytes) {
    const U value = *reinterpret_cast<const U*>(source);
    std::fill_n(reinterpret_cast<U*>(target), count, value);
  } else if (to == kBytes) {
    auto* units = reinterpret_cast<U*>(target);
    for (int64_t i = 0; i < count; ++i) units[i] = *reinterpret_cast<const U*>(source + i * from);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      *reinterpret_cast<U*>(target + i * to) = *reinterpret_cast<const U*>(source + i * from);
    }
  }
}

/// Transposes a plane: rows are contiguous in the source and `to_row` apart in the target, columns
/// the other way round.
template <int kBytes>
void transpose_tile(const char* source, int64_t from_column, char* target, int64_t to_row,
                    int64_t rows, int64_t columns) {
  using U = typename UnitOf<kBytes>::type;
  int64_t row = 0;
  if constexpr (kBytes == 1 || kBytes == 4) {
    if (rows >= 2 && rows <= 4 && from_column == rows * kBytes)
      return deinterleave(source, kBytes, rows, columns, target, to_row);
  }
  if constexpr (kBytes == 4) {
    using V = uint32_t __attribute__((vector_size(16), aligned(1), may_alias));
    for (; row + 4 <= rows; row += 4) {
      int64_t column = 0;
      for (; column + 4 <= columns; column += 4) {
        const char* element = source + row * 4 + column * from_column;
        const V a = *reinterpret_cast<const V*>(element);
        const V b = *reinterpret_cast<const V*>(element + from_column);
        const V c = *reinterpret_cast<const V*>(element + 2 * from_column);
        const V d = *reinterpret_cast<const V*>(element + 3 * from_column);
        const V ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
        const V ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        const V cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
        const V cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        char* out = target + row * to_row + column * 4;
        *reinterpret_cast<V*>(out) = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
        *reinterpret_cast<V*>(out + to_row) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
        *reinterpret_cast<V*>(out + 2 * to_row) =
            __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
        *reinterpret_cast<V*>(out + 3 * to_row) =
            __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
      }
      for (int64_t i = row; i < row + 4; ++i) {
        copy_row<4>(source + i * 4 + column * from_column, from_column,
                    target + i * to_row + column * 4, 4, columns - column);
      }
    }
  }
  for (; row < rows; ++row) {
    auto* out = reinterpret_cast<U*>(target + row * to_row);
    const char* in = source + row * kBytes;
    for (int64_t i = 0; i < columns; ++i)
      out[i] = *reinterpret_cast<const U*>(in + i * from_column);
  }
}

/// Index of an axis that is contiguous in the source while the last one is contiguous in the
/// target; -1 if none.
int transposed_axis(const CopyBox& box) {
  if (box.to.back() != box.unit || box.from.back() == box.unit || box.from.back() == 0) return -1;
  for (int i = box.last() - 1; i >= 0; --i) {
    if (box.from[i] == box.unit) return i;
  }
  return -1;
}

template <int kBytes>
void copy_transposed(sdk::Call& call, const CopyBox& box, int axis, const char* source,
                     char* target) {
  const int64_t rows = box.extents[axis];
  const int64_t columns = box.extents.back();
  const int64_t from_column = box.from.back();
  const int64_t tiles = (rows + kTile - 1) / kTile;
  const int64_t strips = (columns + kStrip - 1) / kStrip;
  // The outer axes and, as their last, the strips of columns and the tiles along `axis`.
  CopyBox outer;
  for (int i = 0; i < box.last(); ++i) {
    if (i != axis) outer.push(box.extents[i], box.from[i], box.to[i]);
  }
  outer.push(strips, kStrip * from_column, kStrip * kBytes);
  outer.push(tiles, kTile * kBytes, kTile * box.to[axis]);
  const int64_t unit_bytes = std::min(rows, kTile) * std::min(columns, kStrip) * kBytes;
  // Few rows, as the channels of an image, need no tiles: all of them stay in the cache.
  const int64_t tile_columns = rows < kTile ? 16 * kTile : kTile;
  call.parallel_for(
      outer.extents.shape().element_count(), std::max<int64_t>(1, kCopyGrainBytes / unit_bytes),
      [&](int64_t begin, int64_t end) {
        Odometer odometer(outer, outer.extents.rank(), begin, source, target);
        for (int64_t i = begin; i < end; ++i, odometer.next()) {
          const int64_t height = std::min(kTile, rows - i % tiles * kTile);
          const int64_t width = std::min(kStrip, columns - i / tiles % strips * kStrip);
          for (int64_t column = 0; column < width; column += tile_columns) {
            transpose_tile<kBytes>(odometer.source() + column * from_column, from_column,
                                   odometer.target() + column * kBytes, box.to[axis], height,
                                   std::min(tile_columns, width - column));
          }
        }
      });
}

template <int kBytes>
void copy_box(sdk::Call& call, const CopyBox& box, const char* source, char* target) {
  const int axis = transposed_axis(box);
  if (axis >= 0) return copy_transposed<kBytes>(call, box, axis, source, target);
  const int64_t count = box.extents.back();
  const int64_t from = box.from.back();
  const int64_t to = box.to.back();
  if (box.last() == 0) {
    call.parallel_for(count, kCopyGrainBytes / kBytes, [&](int64_t begin, int64_t end) {
      copy_row<kBytes>(source + begin * from, from, target + begin * to, to, end - begin);
    });
    return;
  }
  for_each_row(call, box, source, target,
               [&](const char* in, char* out) { copy_row<kBytes>(in, from, out, to, count); });
}

}  // namespace

void copy_bytes(sdk::Call& call, void* target, const void* source, int64_t bytes) {
  if (target == source || bytes == 0) return;
  auto* to = static_cast<char*>(target);
  const auto* from = static_cast<const char*>(source);
  call.parallel_for(bytes, 4 * kCopyGrainBytes, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
}

void copy_strided(sdk::Call& call, int64_t unit_bytes, sdk::Shape extents, const void* source,
                  const int64_t* source_strides, void* target, const int64_t* target_strides) {
  CopyBox box;
  box.unit = unit_bytes;
  if (!merge_axes(box, extents, source_strides, target_strides)) return;
  const auto* from = static_cast<const char*>(source);
  auto* to = static_cast<char*>(target);
  if (box.last() < 0) {
    std::memcpy(to, from, static_cast<size_t>(unit_bytes));
    return;
  }
  widen_unit(box);
  if (box.from.back() == box.unit && box.to.back() == box.unit) {
    const int64_t bytes = box.extents.back() * box.unit;
    if (box.last() == 0) return copy_bytes(call, target, source, bytes);
    return for_each_row(call, box, from, to, [&](const char* in, char* out) {
      std::memcpy(out, in, static_cast<size_t>(bytes));
    });
  }
  switch (box.unit) {
    case 1:
      return copy_box<1>(call, box, from, to);
    case 2:
      return copy_box<2>(call, box, from, to);
    case 4:
      return copy_box<4>(call, box, from, to);
    case 8:
      return copy_box<8>(call, box, from, to);
    default:
      return copy_box<16>(call, box, from, to);
  }
}

}  // namespace gantry::cpu
