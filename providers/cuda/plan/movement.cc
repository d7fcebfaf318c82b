// SPDX-License-Identifier: Apache-2.0
#include "plan/movement.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "compile/kernel_texts.h"
#include "kernels/tensor/copy.h"

namespace gantry::cuda {
namespace {

// Whether elements can be copied in pairs, as elements of twice the size.
bool can_widen(const Walk& walk, int64_t bytes, const Buffer& a, const Buffer& b) {
  if (bytes >= 16 || walk.extents.back() % 2 != 0) return false;
  if (a.offset_bytes % static_cast<uint64_t>(2 * bytes) != 0) return false;
  if (b.offset_bytes % static_cast<uint64_t>(2 * bytes) != 0) return false;
  return std::all_of(walk.strides.begin(), walk.strides.end(), [](const Extents& strides) {
    return strides.back() == 1 && std::all_of(strides.begin(), strides.end() - 1,
                                              [](int64_t stride) { return stride % 2 == 0; });
  });
}

// Extent of both axes from which on copying by tiles pays for its barriers.
constexpr int64_t kLeastOfTile = 8;

// The axes along which the source (`rows`) and the target (`columns`) are contiguous, if they
// differ and are long enough.
struct TileAxes {
  size_t rows, columns;
};
std::optional<TileAxes> axes_of_tiles(const Walk& walk, int64_t element_bytes) {
  const auto dense = [&](size_t tensor) {
    const Extents& strides = walk.strides[tensor];
    return static_cast<size_t>(std::find(strides.begin(), strides.end(), 1) - strides.begin());
  };
  const TileAxes axes = {dense(1), dense(0)};
  const auto rank = static_cast<size_t>(walk.rank());
  if (element_bytes > 8 || axes.rows == rank || axes.columns == rank || axes.rows == axes.columns ||
      std::min(walk.extents[axes.rows], walk.extents[axes.columns]) < kLeastOfTile)
    return std::nullopt;
  return axes;
}

// False: there would be too many tiles, and nothing is planned.
bool plan_tiles(Planner& planner, Walk walk, int64_t element_bytes, const TileAxes& axes,
                const Buffer& target, const Buffer& source) {
  const int64_t tile = element_bytes <= 2 ? 64 : 32;
  TilesParameters parameters = {};
  parameters.rows = walk.extents[axes.rows];
  parameters.columns = walk.extents[axes.columns];
  parameters.target_step = walk.strides[0][axes.rows];
  parameters.source_step = walk.strides[1][axes.columns];
  for (const size_t taken :
       {std::max(axes.rows, axes.columns), std::min(axes.rows, axes.columns)}) {
    walk.extents.erase(walk.extents.begin() + static_cast<std::ptrdiff_t>(taken));
    for (Extents& strides : walk.strides)
      strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  walk.simplify();
  const int64_t across = (parameters.columns + tile - 1) / tile;
  const int64_t tiles = across * ((parameters.rows + tile - 1) / tile);
  if (tiles * walk.count() >= int64_t{1} << 31) return false;
  parameters.tiles = static_cast<unsigned>(tiles);
  parameters.tiles_across = static_cast<unsigned>(across);
  walk.write_extents(parameters.extents);
  walk.write_strides(0, parameters.target_strides);
  walk.write_strides(1, parameters.source_strides);
  const std::string body = "\ntypedef " + word_name(element_bytes) + " Word;\n#define TILE " +
                           std::to_string(tile) + "\n#define PAD " +
                           std::to_string(std::max<int64_t>(1, 4 / element_bytes)) +
                           "\n#define RANK " + std::to_string(walk.rank()) + "\n" +
                           std::string(kernel_text("copy_tiles.cu"));
  planner.launch(kernel_source({"index.h", "index.cu", "copy.h"}, body), tiles * walk.count(),
                 kThreads, parameters,
                 {{&parameters.target, target}, {&parameters.source, source}});
  return true;
}

}  // namespace

int prefetch_bytes_for(const Planner& planner, int64_t blocks, int64_t bytes_of_block) {
  constexpr int64_t kPrefetchBytes = int64_t{16} << 20;
  constexpr int64_t kMostAtOnce = 8;  // blocks per multiprocessor
  constexpr int64_t kPiece = 32;
  const int64_t at_once =
      std::clamp<int64_t>(blocks, 1, kMostAtOnce * std::max(planner.multiprocessors, 1));
  return static_cast<int>(std::min(bytes_of_block, kPrefetchBytes / at_once) / kPiece * kPiece);
}

int64_t blocks_for(const Planner& planner, int64_t count) {
  return std::min<int64_t>((count + kThreads - 1) / kThreads,
                           int64_t{32} * planner.multiprocessors);
}

int threads_for_row(int64_t length) {
  return static_cast<int>(std::clamp<int64_t>((length + 127) / 128 * 32, 32, 512));
}

int threads_for_columns(int64_t length) {
  // A few elements of each row per thread, and larger blocks for longer rows.
  const auto parts = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length + 3) / 4));
  return static_cast<int>(kColumns * std::clamp<int64_t>(parts, 2, 64));
}

std::string word_name(int64_t bytes) { return "u" + std::to_string(8 * bytes); }

void plan_copy(Planner& planner, const Extents& shape, int64_t element_bytes, const Buffer& target,
               const Extents& target_strides, const Buffer& source, const Extents& source_strides) {
  Walk walk{shape, {target_strides, source_strides}};
  if (walk.count() == 0) return;
  walk.simplify();
  const auto is_dense = [](const Extents& strides) { return strides[0] == 1; };
  if (walk.rank() == 1 &&
      (walk.extents[0] == 1 || std::all_of(walk.strides.begin(), walk.strides.end(), is_dense))) {
    planner.copy(target, source, static_cast<uint64_t>(walk.extents[0] * element_bytes));
    return;
  }
  while (can_widen(walk, element_bytes, target, source)) {
    element_bytes *= 2;
    walk.extents.back() /= 2;
    for (Extents& strides : walk.strides) {
      for (size_t axis = 0; axis + 1 < strides.size(); ++axis) strides[axis] /= 2;
    }
  }
  const std::optional<TileAxes> axes = axes_of_tiles(walk, element_bytes);
  if (axes && plan_tiles(planner, walk, element_bytes, *axes, target, source)) return;
  CopyParameters parameters = {};
  parameters.count = walk.count();
  walk.write_extents(parameters.extents);
  walk.write_strides(0, parameters.target_strides);
  walk.write_strides(1, parameters.source_strides);
  const std::string word = word_name(element_bytes);
  const std::string rank = std::to_string(walk.rank());
  const std::string body =
      std::string("\ntypedef ") + index_type(walk.is_small()) +
      " Index;\nKERNEL(CopyParameters) {\n  FOR_EACH(i, p.count) {\n    ((" + word +
      "*)p.target)[offset_of<" + rank + ">(i, p.extents, p.target_strides)] =\n        ((const " +
      word + "*)p.source)[offset_of<" + rank + ">(i, p.extents, p.source_strides)];\n  }\n}\n";
  planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu"}, body),
                 blocks_for(planner, parameters.count), kThreads, parameters,
                 {{&parameters.target, target}, {&parameters.source, source}});
}

void plan_fill(Planner& planner, int64_t count, int64_t element_bytes, const Buffer& target,
               uint64_t bits, const Buffer* value) {
  if (count == 0) return;
  FillParameters parameters = {};
  parameters.bits = bits;
  parameters.count = count;
  const std::string word = word_name(element_bytes);
  const std::string body = "\ntypedef u64 Index;\nKERNEL(FillParameters) {\n  const " + word +
                           " value = p.value ? *(const " + word + "*)p.value : (" + word +
                           ")p.bits;\n  FOR_EACH(i, p.count) ((" + word +
                           "*)p.target)[i] = value;\n}\n";
  std::vector<std::pair<const void* const*, Buffer>> addresses = {{&parameters.target, target}};
  if (value) addresses.emplace_back(&parameters.value, *value);
  planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu"}, body),
                 blocks_for(planner, count), kThreads, parameters, addresses);
}

}  // namespace gantry::cuda
