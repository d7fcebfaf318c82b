// SPDX-License-Identifier: Apache-2.0
#include "simd/transpose.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "simd/blocking.h"
#include "simd/instructions.h"

#ifndef GANTRY_ONEDNN_TRANSPOSE_MATRICES_
#define GANTRY_ONEDNN_TRANSPOSE_MATRICES_
namespace gantry::x86 {
namespace {

// A block is as wide as a cache line of the source; each of its columns is a run of the target.
constexpr int64_t kBlockRows = 2048;
constexpr int64_t kBlockColumns = 16;

/// Part of a matrix.
struct Block {
  int64_t rows;
  int64_t columns;
  int64_t source_stride;  // from row to row, [rows, columns]
  int64_t target_stride;  // from row to row, [columns, rows]
};

}  // namespace
}  // namespace gantry::x86
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/transpose.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

constexpr int64_t kQuad = 4;  // lanes of a 128-bit block

/// Transposes rows [first_row, rows) of columns [first_column, columns), one element at a time.
template <class T>
HWY_INLINE void transpose_rest(const Block& block, const T* source, T* target, int64_t first_row,
                               int64_t first_column) {
  for (int64_t column = first_column; column < block.columns; ++column) {
    for (int64_t row = first_row; row < block.rows; ++row)
      target[column * block.target_stride + row] = source[row * block.source_stride + column];
  }
}

HWY_INLINE void transpose_block(const Block& block, const uint8_t* source, uint8_t* target) {
  transpose_rest(block, source, target, 0, 0);
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose_block(const Block& block, const float* source, float* target) {
  transpose_rest(block, source, target, 0, 0);
}
#else
/// Loads four elements from each of some rows, `distance` apart, into one vector, lowest first.
template <class D>
HWY_INLINE hn::Vec<D> load_quads(D d, const float* from, int64_t distance) {
  constexpr auto kQuads = static_cast<int64_t>(hn::MaxLanes(D())) / kQuad;
  if constexpr (kQuads == 1) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_quads(half, from + kQuads / 2 * distance, distance),
                       load_quads(half, from, distance));
  }
}

/// Transposes four columns of as many rows as a vector has lanes.
template <class D>
HWY_INLINE void transpose_quad(D d, const Block& block, const float* source, float* target) {
  const hn::Repartition<uint64_t, D> pairs;
  const int64_t from = block.source_stride;
  const int64_t to = block.target_stride;
  const auto a = load_quads(d, source, kQuad * from);
  const auto b = load_quads(d, source + from, kQuad * from);
  const auto c = load_quads(d, source + 2 * from, kQuad * from);
  const auto e = load_quads(d, source + 3 * from, kQuad * from);
  const auto low_ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto high_ab = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto low_ce = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto high_ce = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low_ab, low_ce)), d, target);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low_ab, low_ce)), d, target + to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high_ab, high_ce)), d, target + 2 * to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high_ab, high_ce)), d, target + 3 * to);
}

/// Transposes whole vectors of rows from `row` on, in the first `columns` columns. Returns the next
/// row.
template <class D>
HWY_INLINE int64_t transpose_rows(D d, const Block& block, const float* source, float* target,
                                  int64_t columns, int64_t row) {
  constexpr auto kRows = static_cast<int64_t>(hn::MaxLanes(D()));
  for (; row + kRows <= block.rows; row += kRows) {
    for (int64_t column = 0; column < columns; column += kQuad) {
      transpose_quad(d, block, source + row * block.source_stride + column,
                     target + column * block.target_stride + row);
    }
  }
  return row;
}

HWY_INLINE void transpose_block(Block block, const float* source, float* target) {
  const int64_t columns = block.columns / kQuad * kQuad;
  int64_t row = transpose_rows(F32(), block, source, target, columns, 0);
  row = transpose_rows(hn::CappedTag<float, kQuad>(), block, source, target, columns, row);
  transpose_rest(block, source, target, row, 0);
  block.rows = row;
  transpose_rest(block, source, target, 0, columns);
}
#endif

template <class T>
HWY_INLINE void transpose_blocks(const Matrices& m, const T* source, T* target, int64_t first,
                                 int64_t last) {
  const int64_t across = divided_up(m.columns, kBlockColumns);
  const int64_t blocks = across * divided_up(m.rows, kBlockRows);  // of one matrix
  for (int64_t i = first; i < last; ++i) {
    const int64_t matrix = i / blocks * m.rows * m.columns;
    const int64_t row = i % blocks / across * kBlockRows;
    const int64_t column = i % across * kBlockColumns;
    const Block block{std::min(kBlockRows, m.rows - row),
                      std::min(kBlockColumns, m.columns - column), m.columns, m.rows};
    transpose_block(block, source + matrix + row * m.columns + column,
                    target + matrix + column * m.rows + row);
  }
}

void transpose_floats_here(const Matrices& m, const float* source, float* target, int64_t first,
                           int64_t last) {
  transpose_blocks(m, source, target, first, last);
}

void transpose_bytes_here(const Matrices& m, const uint8_t* source, uint8_t* target, int64_t first,
                          int64_t last) {
  transpose_blocks(m, source, target, first, last);
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(transpose_floats_here);
HWY_EXPORT(transpose_bytes_here);

int64_t Matrices::blocks() const {
  return count * divided_up(rows, kBlockRows) * divided_up(columns, kBlockColumns);
}

int64_t Matrices::grain() const {
  constexpr int64_t kElements = 1 << 14;
  const int64_t elements = std::min(rows, kBlockRows) * std::min(columns, kBlockColumns);
  return divided_up(kElements, std::max<int64_t>(1, elements));
}

std::optional<Matrices> matrices_between(const Desc& from, const Desc& to) {
  constexpr size_t kLeastRank = 3;
  constexpr size_t kMostRank = 5;
  const Dims dims = from.get_dims();
  if (dims.size() < kLeastRank || dims.size() > kMostRank) return std::nullopt;
  const Desc in_order = desc_f32(dims, dense(dims.size()));
  const Desc last = desc_f32(dims, channels_last(dims.size()));
  const int64_t pixels =
      std::accumulate(dims.begin() + 2, dims.end(), int64_t{1}, std::multiplies<>());
  if (from == in_order && to == last) return Matrices{dims[0], dims[1], pixels};
  if (from == last && to == in_order) return Matrices{dims[0], pixels, dims[1]};
  return std::nullopt;
}

void transpose(const Matrices& matrices, const float* source, float* target, int64_t first,
               int64_t last) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(transpose_floats_here)(matrices, source, target, first, last);
}

void transpose(const Matrices& matrices, const uint8_t* source, uint8_t* target, int64_t first,
               int64_t last) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(transpose_bytes_here)(matrices, source, target, first, last);
}

}  // namespace gantry::x86
#endif
