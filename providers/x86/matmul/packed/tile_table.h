// SPDX-License-Identifier: Apache-2.0
// Dispatches a tile to the function compiled for its storage dtype, number of rows, panel width and
// number of prefetched lines; one table for each instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "matmul/packed/code.h"

namespace gantry::x86 {

/// `Code` has static members kMostRows and multiply<dtype, rows, half panels, lines ahead>(tile).
template <class Code>
class TileTable {
 public:
  /// As MatMulCode::multiply_tile.
  static void multiply(const MatMulTile& tile) {
    switch (tile.dtype) {
      case StorageDtype::kFloat:
        return of_width<StorageDtype::kFloat>(tile);
      case StorageDtype::kBf16:
        return of_width<StorageDtype::kBf16>(tile);
      case StorageDtype::kF16:
        return of_width<StorageDtype::kF16>(tile);
    }
  }

 private:
  using Row = std::array<void (*)(const MatMulTile&), Code::kMostRows>;  // by rows, from 1

  template <StorageDtype kDtype>
  static void of_width(const MatMulTile& tile) {
    if (tile.columns > kPanelColumns / 2) return of_lines<kDtype, 2>(tile);
    of_lines<kDtype, 1>(tile);
  }

  template <StorageDtype kDtype, int kHalves>
  static void of_lines(const MatMulTile& tile) {
    constexpr auto kRows = std::make_integer_sequence<int, Code::kMostRows>();
    constexpr int kMostLines = kDtype == StorageDtype::kFloat ? 2 : 1;
    static constexpr std::array<Row, 3> kTable = {row<kDtype, kHalves, 0>(kRows),
                                                  row<kDtype, kHalves, 1>(kRows),
                                                  row<kDtype, kHalves, kMostLines>(kRows)};
    const size_t lines = tile.ahead ? static_cast<size_t>(tile.lines_ahead) : 0;
    kTable[lines][static_cast<size_t>(tile.rows) - 1](tile);
  }

  template <StorageDtype kDtype, int kHalves, int kLinesAhead, int... kRows>
  static constexpr Row row(std::integer_sequence<int, kRows...> /*rows*/) {
    return {Code::template multiply<kDtype, kRows + 1, kHalves, kLinesAhead>...};
  }
};

}  // namespace gantry::x86
