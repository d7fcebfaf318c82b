// SPDX-License-Identifier: Apache-2.0
// Evaluates several rows of features in one tree, or one row in several trees, at once. Each step
// waits for memory, so independent traversals in one loop take little longer than one of them.
// Only for trees whose nodes all compare by <= or <, as nearly all do. Immutable, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ml_forest.h"

namespace gantry::cpu {

class ForestWalk {
 public:
  /// Of a checked forest.
  explicit ForestWalk(const Forest& forest);

  /// False: the forest has other nodes too, and Forest::find is to be asked.
  [[nodiscard]] bool is_possible() const { return is_possible_; }
  /// leaves[i] = the leaf that row i of x ends in; rows are `columns` numbers apart. Requires
  /// is_possible() and as many columns as the forest has features.
  void find(int64_t tree, const double* x, int64_t columns, int64_t rows, int64_t* leaves) const;
  /// leaves[i] = the leaf of tree first + i that one row ends in.
  void find_in_trees(int64_t first, int64_t count, const double* x, int64_t* leaves) const;

 private:
  /// A leaf leads to itself.
  struct Node {
    double split;
    int32_t feature;
    int32_t missing_is_true;
    int32_t next[2];  ///< if the feature is above the split, and if it is not
  };

  /// kRows traversals: each from the root roots[i * root_step] with the row x + i * columns.
  template <int kRows>
  void find_some(const int32_t* roots, int64_t root_step, const double* x, int64_t columns,
                 int64_t* leaves) const;

  bool is_possible_ = false;
  std::vector<Node> nodes_;  ///< then the leaves
  std::vector<int32_t> roots_;
  int64_t first_leaf_ = 0;
};

}  // namespace gantry::cpu
