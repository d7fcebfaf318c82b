// SPDX-License-Identifier: Apache-2.0
// Runs a set of element-wise f32 nodes with results of one shape (program.h) in one pass, tile by
// tile (tiles.h).
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>

#include "eltwise/program.h"
#include "eltwise/tiles.h"
#include "fuse/kernels.h"

namespace gantry::x86 {
namespace {

/// The shape of all results, and one that tensors are broadcast to.
struct BroadcastExtents {
  int rank = 0;
  std::array<int64_t, kMostAxes> of{};

  [[nodiscard]] sdk::Shape shape() const { return {of.data(), rank}; }
};

class ElementwiseKernel final : public sdk::Kernel {
 public:
  explicit ElementwiseKernel(const KernelArgs& args)
      : program_(
            program_of(args.index, args.fusion.nodes,
                       {args.compile.outputs, args.compile.outputs + args.compile.output_count})),
        label_(args.index.node(args.fusion.nodes.back()).label()) {
    for (const auto& operand : program_.operands)
      slots_.push_back(static_cast<int>(args.slot_of(operand.value)));
  }

  void run(sdk::Call& call) const override {
    const BroadcastExtents extents = broadcast(call);
    const size_t results = program_.results.size();
    auto* targets = call.scratch<float*>(static_cast<int64_t>(results));
    for (size_t i = 0; i < results; ++i) {
      targets[i] =
          static_cast<float*>(call.output(static_cast<int>(i), GANTRY_FLOAT, extents.shape()).data);
    }
    auto* operands = call.scratch<TileOperand>(static_cast<int64_t>(slots_.size()));
    for (size_t i = 0; i < slots_.size(); ++i) {
      operands[i] = broadcast_operand(call.data<float>(slots_[i]), call.shape(slots_[i]),
                                      AxisOrder::kDense, extents.shape(), AxisOrder::kDense);
    }
    run_tiles(call, {program_.instructions, operands, slots_.size(), targets, results,
                     program_.buffers, extents.shape().element_count()});
  }

 private:
  [[nodiscard]] BroadcastExtents broadcast(const sdk::Call& call) const {
    BroadcastExtents to;
    for (const int slot : slots_) to.rank = std::max(to.rank, call.shape(slot).rank);
    if (to.rank > kMostAxes) fail("its operands have more than 8 axes");
    to.of.fill(1);
    for (const int slot : slots_) {
      const sdk::Shape shape = call.shape(slot);
      for (int axis = 0; axis < shape.rank; ++axis) {
        int64_t& extent = to.of[static_cast<size_t>(axis + to.rank - shape.rank)];
        if (extent == 1) extent = shape[axis];
        if (shape[axis] != 1 && shape[axis] != extent) {
          fail("extents " + std::to_string(shape[axis]) + " and " + std::to_string(extent) +
               " of its operands do not broadcast");
        }
      }
    }
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (program_.operands[i].is_whole && call.shape(slots_[i]) != to.shape())
        fail("tensors that the model says are of one shape are not");
    }
    return to;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, label_ + " and the nodes run with it: " + what);
  }

  ElementwiseProgram program_;
  std::string label_;
  std::vector<int> slots_;  // of the operands
};

}  // namespace

std::unique_ptr<Fusion> match_elementwise(const MatchScope& scope, uint32_t root) {
  const std::vector<uint32_t> nodes = elementwise_set_at(scope.index(), scope.predicate(), root);
  if (nodes.size() < 2) return nullptr;
  return std::make_unique<Fusion>(elementwise_fusion(scope.index(), nodes));
}

std::span<const Implementation> elementwise_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {{"tiles", make_always<ElementwiseKernel>}};
  return kAll;
}

bool is_elementwise_parameter(const GraphIndex& index, uint32_t node, uint32_t position) {
  return position >= elementwise_of(index, node)->operands;
}

}  // namespace gantry::x86
