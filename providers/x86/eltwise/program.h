// SPDX-License-Identifier: Apache-2.0
// Sets of nodes that work element by element on f32 and make tensors of one shape, and what runs
// such a set in one pass. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "eltwise/code.h"
#include "fuse/fusion.h"

namespace gantry::x86 {

/// What a node does to each element.
struct Elementwise {
  Operation operation = Operation::kAdd;
  float alpha = 0;
  float beta = 0;
  uint32_t operands = 1;  ///< leading inputs that are tensors; others are read when compiling
};
/// Nothing: the node is none of these, or its ranks are not known.
std::optional<Elementwise> elementwise_of(const sdk::GraphIndex& index, uint32_t node);

/// The largest sets of two nodes and more among those that may be taken, each in ascending order,
/// connected, of results of one shape as far as the graph tells, and without a way from a member
/// over other nodes back to a member.
std::vector<std::vector<uint32_t>> elementwise_sets(
    const sdk::GraphIndex& index, const std::function<bool(uint32_t node)>& may_take);

/// The set of a claim that is compiled, whose last node is `root`; empty: there is none. Requires
/// that only nodes of that claim may be taken.
std::vector<uint32_t> elementwise_set_at(const sdk::GraphIndex& index,
                                         const std::function<bool(uint32_t node)>& may_take,
                                         uint32_t root);

/// Such a set as a fusion, whose root is its first node. Its addend is the operand that its result
/// may be written over.
Fusion elementwise_fusion(const sdk::GraphIndex& index, const std::vector<uint32_t>& nodes);

/// A set as it is run. Places: first operands, then results, then `buffers` more.
struct ElementwiseProgram {
  struct Operand {
    uint32_t value = GANTRY_NONE;
    bool is_whole = false;  ///< it has the shape of the results, else it is broadcast to that
  };
  std::vector<Operand> operands;
  std::vector<uint32_t> results;  ///< values
  size_t buffers = 0;
  std::vector<Instruction> instructions;
  /// The only result is made by the last instruction, so that it may stand where an operand does.
  bool may_overwrite = false;
};
/// `results`: the values that leave the set.
ElementwiseProgram program_of(const sdk::GraphIndex& index, const std::vector<uint32_t>& nodes,
                              const std::vector<uint32_t>& results);

}  // namespace gantry::x86
