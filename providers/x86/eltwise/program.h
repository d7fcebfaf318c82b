// SPDX-License-Identifier: Apache-2.0
// Sets of element-wise f32 nodes with results of one shape, and the program that runs a set in one
// pass. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "eltwise/code.h"
#include "fuse/fusion.h"

namespace gantry::x86 {

/// The operation of a node.
struct Elementwise {
  Operation operation = Operation::kAdd;
  float alpha = 0;
  float beta = 0;
  uint32_t operands = 1;  ///< leading inputs read in a run; the others are constant parameters
};
/// Nothing if the node is not a supported f32 element-wise operator, or a rank is unknown.
std::optional<Elementwise> elementwise_of(const sdk::GraphIndex& index, uint32_t node);

/// The largest connected sets of at least two nodes that `may_take` allows, whose results provably
/// have one shape, and which are convex (no path leaves a set and enters it again). Each is
/// ascending.
std::vector<std::vector<uint32_t>> elementwise_sets(
    const sdk::GraphIndex& index, const std::function<bool(uint32_t node)>& may_take);

/// The set with `root` as its last node; empty: there is none. Requires that `may_take` allows
/// exactly the nodes of the claim that is compiled.
std::vector<uint32_t> elementwise_set_at(const sdk::GraphIndex& index,
                                         const std::function<bool(uint32_t node)>& may_take,
                                         uint32_t root);

/// A set as a fusion, whose root is its first node. The fusion's addend is the operand that the
/// result may overwrite.
Fusion elementwise_fusion(const sdk::GraphIndex& index, const std::vector<uint32_t>& nodes);

/// The instructions of a set. Its slots: operands, results, then `buffers` temporaries.
struct ElementwiseProgram {
  struct Operand {
    uint32_t value = GANTRY_NONE;
    bool is_whole = false;  ///< it has the shape of the results; else it is broadcast
  };
  std::vector<Operand> operands;
  std::vector<uint32_t> results;  ///< values
  size_t buffers = 0;
  std::vector<Instruction> instructions;
  /// There is one result, and the last instruction writes it, so it may overwrite an operand.
  bool may_overwrite = false;
};
/// `results`: the values that are read outside the set.
ElementwiseProgram program_of(const sdk::GraphIndex& index, const std::vector<uint32_t>& nodes,
                              const std::vector<uint32_t>& results);

}  // namespace gantry::x86
