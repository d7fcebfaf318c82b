// SPDX-License-Identifier: Apache-2.0
// Traverses one tree for several rows of features, or several trees for one row, in one loop. Each
// step waits for memory, so interleaved traversals take little longer than one. Only for forests
// whose nodes all compare by <= or <, as nearly all do. Immutable, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "ml/forest.h"

namespace gantry::cpu {

class ForestWalk {
 public:
  /// Copies the nodes of `forest`, which must be checked.
  explicit ForestWalk(const Forest& forest);

  /// False if the forest is not supported; use Forest::find() then.
  [[nodiscard]] bool is_possible() const { return is_possible_; }
  /// leaves[i] = the leaf of `tree` that row i of x reaches. x: [rows, columns]. Requires
  /// is_possible() and columns >= Forest::features().
  void find(int64_t tree, const double* x, int64_t columns, int64_t rows, int64_t* leaves) const;
  /// leaves[i] = the leaf of tree first + i that the row x reaches, for i in [0, count). Requires
  /// the same.
  void find_in_trees(int64_t first, int64_t count, const double* x, int64_t* leaves) const;

 private:
  /// A node; a leaf is a node whose successors are itself.
  struct Node {
    double split;
    int32_t feature;
    int32_t missing_is_true;
    int32_t next[2];  ///< [0]: the feature is above the split; [1]: otherwise
  };

  /// kRows traversals: traversal i starts at roots[i * root_step] and reads the row x + i *
  /// columns.
  template <int kRows>
  void find_some(const int32_t* roots, int64_t root_step, const double* x, int64_t columns,
                 int64_t* leaves) const;

  bool is_possible_ = false;
  std::vector<Node> nodes_;  ///< then the leaves
  std::vector<int32_t> roots_;
  int64_t first_leaf_ = 0;
};

}  // namespace gantry::cpu
