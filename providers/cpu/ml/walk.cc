// SPDX-License-Identifier: Apache-2.0
#include "ml/walk.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gantry::cpu {

namespace {

/// Traversals that are interleaved in one loop.
constexpr int kTogether = 8;

}  // namespace

ForestWalk::ForestWalk(const Forest& forest)
    : first_leaf_(static_cast<int64_t>(forest.nodes.size())) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const auto count = first_leaf_ + static_cast<int64_t>(forest.leaves.size());
  is_possible_ = count <= kMost && forest.features() <= kMost &&
                 std::all_of(forest.nodes.begin(), forest.nodes.end(), [](const TreeNode& node) {
                   return node.branch == Branch::kLeq || node.branch == Branch::kLt;
                 });
  if (!is_possible_) return;
  const auto index_of = [&](int64_t index) {
    return static_cast<int32_t>(index < 0 ? first_leaf_ + ~index : index);
  };
  nodes_.reserve(static_cast<size_t>(count));
  for (const TreeNode& node : forest.nodes) {
    // x < split is x <= the largest number below split.
    const double split = node.branch == Branch::kLeq
                             ? node.split
                             : std::nextafter(node.split, -std::numeric_limits<double>::infinity());
    nodes_.push_back({split,
                      static_cast<int32_t>(node.feature),
                      static_cast<int32_t>(node.missing_is_true),
                      {index_of(node.when_false), index_of(node.when_true)}});
  }
  for (auto index = static_cast<int32_t>(first_leaf_); index < count; ++index)
    nodes_.push_back({0, 0, 0, {index, index}});
  for (const int64_t root : forest.roots) roots_.push_back(index_of(root));
}

void ForestWalk::find(int64_t tree, const double* x, int64_t columns, int64_t rows,
                      int64_t* leaves) const {
  const int32_t* root = roots_.data() + tree;
  int64_t row = 0;
  for (; row + kTogether <= rows; row += kTogether)
    find_some<kTogether>(root, 0, x + row * columns, columns, leaves + row);
  for (; row < rows; ++row) find_some<1>(root, 0, x + row * columns, columns, leaves + row);
}

void ForestWalk::find_in_trees(int64_t first, int64_t count, const double* x,
                               int64_t* leaves) const {
  const int32_t* roots = roots_.data() + first;
  int64_t tree = 0;
  for (; tree + kTogether <= count; tree += kTogether)
    find_some<kTogether>(roots + tree, 1, x, 0, leaves + tree);
  for (; tree < count; ++tree) find_some<1>(roots + tree, 1, x, 0, leaves + tree);
}

template <int kRows>
void ForestWalk::find_some(const int32_t* roots, int64_t root_step, const double* x,
                           int64_t columns, int64_t* leaves) const {
  int32_t at[kRows];
  bool moves = false;
  for (int i = 0; i < kRows; ++i) {
    at[i] = roots[i * root_step];
    // If all roots are leaves, rows may have no features to read.
    moves |= at[i] < first_leaf_;
  }
  while (moves) {
    int32_t changes = 0;
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Node& node = nodes_[static_cast<size_t>(at[i])];
      const double feature = x[i * columns + node.feature];
      const int is_below = static_cast<int>(feature <= node.split) |
                           (node.missing_is_true & static_cast<int>(feature != feature));
      const int32_t next = node.next[is_below];
      changes |= next ^ at[i];
      at[i] = next;
    }
    moves = changes != 0;
  }
  for (int i = 0; i < kRows; ++i) leaves[i] = at[i] - first_leaf_;
}

}  // namespace gantry::cpu
