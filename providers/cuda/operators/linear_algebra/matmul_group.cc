// SPDX-License-Identifier: Apache-2.0
// Grouped MatMul nodes with their biases.
#include "fuse/matmul_group.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "operators/linear_algebra/matmul_plan.h"

namespace gantry::cuda {
namespace {

static_assert(kMostGrouped <= MOST_MATMULS);

// Input and output slots of one matmul.
struct Member {
  int a = -1, b = -1;
  int bias = -1;  // -1: none
  int output = 0;
};

class MatmulGroup final : public Operation {
 public:
  explicit MatmulGroup(std::vector<Member> members) : members_(std::move(members)) {}

  void plan(Planner& planner) const override {
    std::deque<MatmulParameters> parameters;  // a deque, because `calls` hold addresses of elements
    const Walk walk{{1}, {{0}, {0}}};
    std::vector<MatmulCall> calls;
    for (const Member& member : members_) {
      const InputMetadata& a = planner.input(member.a);
      const Extents& b = planner.shape(member.b);
      if (a.rank() < 2 || b.size() != 2 || a.shape.back() != b[0]) {
        throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                         "a matrix of the shape " + text_of(b) + " does not fit " +
                             text_of(a.shape) + ", expected as many rows as that has columns");
      }
      Extents shape = a.shape;
      shape.back() = b[1];
      MatmulParameters& p = parameters.emplace_back();
      p.m = count_of(shape, 0, shape.size() - 1);
      p.n = b[1];
      p.k = b[0];
      p.a_row = p.k;
      p.a_column = p.b_column = 1;
      p.b_row = p.n;
      p.alpha = 1;
      const Buffer y = planner.output(member.output, a.dtype, shape);
      if (count_of(shape) == 0) continue;
      calls.push_back(
          {p, walk, a.dtype, y, Planner::in(member.a), Planner::in(member.b), {}, {}, {}, {}, {}});
      if (member.bias >= 0) add_bias(p, calls.back(), member.bias);
      if (p.k > 0) calls.back().blas = blas_shape(planner, a.dtype, p, member.bias >= 0);
    }
    if (!calls.empty()) plan_matmuls(planner, calls);
  }

 private:
  static void add_bias(MatmulParameters& p, MatmulCall& call, int slot) {
    p.c_column = 1;
    p.beta = 1;
    call.bias = Planner::in(slot);
    call.more.emplace_back(&p.c, Planner::in(slot));
  }

  static MatmulShape blas_shape(const Planner& planner, uint32_t dtype, const MatmulParameters& p,
                                bool has_bias) {
    MatmulShape shape;
    shape.dtype = dtype;
    shape.m = p.m;
    shape.n = p.n;
    shape.k = p.k;
    shape.has_bias = has_bias;
    shape.rounds_to_tf32 = planner.rounds_to_tf32();
    return shape;
  }

  std::vector<Member> members_;
};

// The input slot of a value that a node reads; each node has its own, even of one value.
int slot_of(const std::vector<sdk::InputSlot>& slots, uint32_t node, uint32_t value) {
  const auto found = std::find_if(slots.begin(), slots.end(), [&](const sdk::InputSlot& slot) {
    return slot.node == node && slot.value == value;
  });
  return static_cast<int>(found - slots.begin());
}

std::unique_ptr<sdk::Kernel> make_group(const sdk::FusionCompile& compile,
                                        const MatmulGroupFusion& fusion) {
  const sdk::GraphIndex& index = compile.scope.index();
  const std::vector<uint32_t> outputs = index.output_slots(fusion.nodes);
  std::vector<Member> members;
  for (const MatmulFusion& one : fusion.members) {
    Member& member = members.emplace_back();
    member.a = slot_of(compile.inputs, one.root, index.raw(one.root).inputs[0]);
    member.b = slot_of(compile.inputs, one.root, index.raw(one.root).inputs[1]);
    if (one.bias != GANTRY_NONE) member.bias = slot_of(compile.inputs, one.nodes.back(), one.bias);
    const uint32_t made = sdk::result_of(index, one.nodes.back());
    member.output =
        static_cast<int>(std::find(outputs.begin(), outputs.end(), made) - outputs.begin());
  }
  return kernel_of(std::make_unique<MatmulGroup>(std::move(members)));
}

}  // namespace

sdk::FusionRow matmul_group_row() {
  return sdk::fusion_row<MatmulGroupFusion, match_matmul_group, no_refusal<MatmulGroupFusion>,
                         make_group>("cuda.matmul_group");
}

}  // namespace gantry::cuda
