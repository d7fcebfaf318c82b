// SPDX-License-Identifier: Apache-2.0
// Transpose, DepthToSpace and SpaceToDepth, all as permutations of axes.
#include <gantry/sdk/rows.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attributes.h"
#include "elements.h"
#include "families.h"
#include "node_kernel.h"
#include "tensor/strided_copy.h"

namespace gantry::cpu {

namespace {

/// Writes output 0, of shape `output`: input 0, reshaped to `input`, with its axes in the order
/// `order`.
void permute(sdk::Call& call, sdk::Shape input, const int64_t* order, sdk::Shape output) {
  const uint32_t dtype = call.input(0).dtype;
  UnitWriter writer(call, 0, dtype, output);
  if (output.element_count() > 0) {
    const Dims input_strides = dense_strides(input);
    Dims extents;
    Dims strides;
    for (int i = 0; i < input.rank; ++i) {
      extents.push(input[static_cast<int>(order[i])]);
      strides.push(input_strides[static_cast<int>(order[i])]);
    }
    const Dims target_strides = dense_strides(extents.shape());
    copy_strided(call, unit_bytes(dtype), extents.shape(), read_units(call, 0), strides.data(),
                 writer.data(), target_strides.data());
  }
  writer.finish();
}

class Transpose final : public NodeKernel {
 public:
  explicit Transpose(const sdk::NodeView& node)
      : NodeKernel(node), has_order_(node.has("perm")), order_(node.get_ints("perm")) {
    std::vector<bool> seen(order_.size());
    for (int64_t& axis : order_) {
      if (axis < 0) axis += static_cast<int64_t>(order_.size());
      if (axis < 0 || axis >= static_cast<int64_t>(order_.size()) ||
          seen[static_cast<size_t>(axis)]) {
        node.fail(GANTRY_INVALID_MODEL, "\"perm\" names an axis twice or one outside the tensor");
      }
      seen[static_cast<size_t>(axis)] = true;
    }
  }
  void run(sdk::Call& call) const override {
    const sdk::Shape input = call.shape(0);
    Dims order;
    Dims shape;
    for (int i = 0; i < input.rank; ++i) order.push(input.rank - 1 - i);
    if (has_order_) {
      if (order_.size() != static_cast<size_t>(input.rank)) {
        fail("\"perm\" orders " + std::to_string(order_.size()) + " axes, but the input has rank " +
             std::to_string(input.rank));
      }
      for (int i = 0; i < input.rank; ++i) order[i] = order_[static_cast<size_t>(i)];
    }
    for (int i = 0; i < input.rank; ++i) shape.push(input[static_cast<int>(order[i])]);
    permute(call, input, order.data(), shape.shape());
  }

 private:
  bool has_order_;
  std::vector<int64_t> order_;
};

/// Base of DepthToSpace and SpaceToDepth: block size and mode (DCR or CRD).
class BlockKernel : public NodeKernel {
 protected:
  explicit BlockKernel(const sdk::NodeView& node)
      : NodeKernel(node),
        block_(read_integer(node, "blocksize", 0, 1, int64_t{1} << 30)),
        depth_first_(read_choice(node, "mode", "DCR", {"DCR", "CRD"}) == 0) {}

  [[nodiscard]] int64_t block() const { return block_; }
  [[nodiscard]] bool depth_first() const { return depth_first_; }
  void require_divisible(sdk::Shape input, int axis, int64_t divisor) const {
    if (input[axis] % divisor != 0) {
      fail("the extent " + std::to_string(input[axis]) + " of axis " + std::to_string(axis) +
           " is no multiple of " + std::to_string(divisor));
    }
  }

 private:
  int64_t block_;
  bool depth_first_;
};

class DepthToSpace final : public BlockKernel {
 public:
  explicit DepthToSpace(const sdk::NodeView& node) : BlockKernel(node) {}
  void run(sdk::Call& call) const override {
    require_rank(call, 0, 4);
    const sdk::Shape x = call.shape(0);
    const int64_t b = block();
    require_divisible(x, 1, b * b);
    const int64_t depth = x[1] / (b * b);
    const int64_t output[4] = {x[0], depth, x[2] * b, x[3] * b};
    const int64_t dcr[6] = {x[0], b, b, depth, x[2], x[3]};
    const int64_t crd[6] = {x[0], depth, b, b, x[2], x[3]};
    constexpr int64_t kDcrOrder[6] = {0, 3, 4, 1, 5, 2};
    constexpr int64_t kCrdOrder[6] = {0, 1, 4, 2, 5, 3};
    permute(call, {depth_first() ? dcr : crd, 6}, depth_first() ? kDcrOrder : kCrdOrder,
            {output, 4});
  }
};

class SpaceToDepth final : public BlockKernel {
 public:
  explicit SpaceToDepth(const sdk::NodeView& node) : BlockKernel(node) {}
  void run(sdk::Call& call) const override {
    require_rank(call, 0, 4);
    const sdk::Shape x = call.shape(0);
    const int64_t b = block();
    require_divisible(x, 2, b);
    require_divisible(x, 3, b);
    const int64_t output[4] = {x[0], x[1] * b * b, x[2] / b, x[3] / b};
    const int64_t blocks[6] = {x[0], x[1], x[2] / b, b, x[3] / b, b};
    constexpr int64_t kDcrOrder[6] = {0, 3, 5, 1, 2, 4};
    constexpr int64_t kCrdOrder[6] = {0, 1, 3, 5, 2, 4};
    permute(call, {blocks, 6}, depth_first() ? kDcrOrder : kCrdOrder, {output, 4});
  }
};

constexpr sdk::KernelRow kTransposeRows[] = {
    {"Transpose", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<Transpose>},
    {"DepthToSpace", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<DepthToSpace>},
    {"SpaceToDepth", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<SpaceToDepth>},
};

}  // namespace

sdk::KernelTable transpose_kernels() { return sdk::table(kTransposeRows); }

}  // namespace gantry::cpu
