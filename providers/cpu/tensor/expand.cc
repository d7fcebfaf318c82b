// SPDX-License-Identifier: Apache-2.0
// Expand and Tile.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "elements.h"
#include "families.h"
#include "node_kernel.h"
#include "tensor/strided_copy.h"

namespace gantry::cpu {

namespace {

class Expand final : public NodeKernel {
 public:
  explicit Expand(const sdk::NodeView& node) : NodeKernel(node) {}
  void run(sdk::Call& call) const override {
    const sdk::Shape input = call.shape(0);
    const Dims wanted = read_ints(call, 1);
    const int rank = std::max(input.rank, wanted.rank());
    Dims shape(rank, 1);
    Dims strides(rank, 0);
    const Dims input_strides = dense_strides(input);
    for (int i = 0; i < rank; ++i) {
      const int own = i - (rank - input.rank);
      const int other = i - (rank - wanted.rank());
      const int64_t have = own < 0 ? 1 : input[own];
      const int64_t want = other < 0 ? 1 : wanted[other];
      if (have != want && have != 1 && want != 1) {
        fail("an input of shape " + to_string(input) + " cannot be broadcast to " +
             to_string(wanted.shape()));
      }
      shape[i] = have == 1 ? want : have;
      if (have != 1) strides[i] = input_strides[own];
    }
    const uint32_t dtype = call.input(0).dtype;
    const int64_t count = count_of(shape.shape());
    UnitWriter output(call, 0, dtype, shape.shape());
    if (count > 0) {
      const Dims target_strides = dense_strides(shape.shape());
      copy_strided(call, unit_bytes(dtype), shape.shape(), read_units(call, 0), strides.data(),
                   output.data(), target_strides.data());
    }
    output.finish();
  }
};

class TileKernel : public NodeKernel {
 protected:
  using NodeKernel::NodeKernel;

  /// `repeats`: the number of repeats of each axis of the input.
  void tile(sdk::Call& call, const Dims& repeats) const {
    const sdk::Shape input = call.shape(0);
    Dims shape(input);
    for (int i = 0; i < input.rank; ++i) {
      if (repeats[i] < 0 || __builtin_mul_overflow(shape[i], repeats[i], &shape[i])) {
        fail("an input of shape " + to_string(input) + " cannot be repeated " +
             to_string(repeats.shape()) + " times");
      }
    }
    const uint32_t dtype = call.input(0).dtype;
    const int64_t count = count_of(shape.shape());
    UnitWriter output(call, 0, dtype, shape.shape());
    if (count > 0) copy(call, shape, repeats, output.data());
    output.finish();
  }

 private:
  /// A repeated axis becomes two axes of the strided copy: the repeats, with source stride 0, and
  /// the axis itself.
  static void copy(sdk::Call& call, const Dims& shape, const Dims& repeats, std::byte* target) {
    const sdk::Shape input = call.shape(0);
    const Dims input_strides = dense_strides(input);
    const Dims output_strides = dense_strides(shape.shape());
    Dims extents;
    Dims from;
    Dims to;
    for (int i = 0; i < input.rank; ++i) {
      if (repeats[i] != 1) {
        extents.push(repeats[i]);
        from.push(0);
        to.push(output_strides[i] * input[i]);
      }
      if (input[i] != 1) {
        extents.push(input[i]);
        from.push(input_strides[i]);
        to.push(output_strides[i]);
      }
    }
    copy_strided(call, unit_bytes(call.input(0).dtype), extents.shape(), read_units(call, 0),
                 from.data(), target, to.data());
  }
};

/// Opset 1: inputs `tiles` and `axis` are scalars of the data's element type.
class TileAxis final : public TileKernel {
 public:
  explicit TileAxis(const sdk::NodeView& node) : TileKernel(node) {}
  void run(sdk::Call& call) const override {
    const int rank = call.shape(0).rank;
    Dims repeats(rank, 1);
    repeats[checked_axis(read_number(call, 2), rank)] = read_number(call, 1);
    tile(call, repeats);
  }

 private:
  [[nodiscard]] int64_t read_number(sdk::Call& call, int slot) const {
    if (call.shape(slot).element_count() != 1)
      fail("input " + std::to_string(slot) + " needs one element");
    int64_t result = 0;
    dispatch<TypeList<float, double, Float16, int64_t, int32_t>>(
        call.input(slot).dtype, [&](auto type) {
          using T = typename decltype(type)::type;
          const auto value = static_cast<Compute<T>>(*call.data<T>(slot));
          if (!(value > -9e18 && value < 9e18))
            fail("input " + std::to_string(slot) + " is no count");
          result = static_cast<int64_t>(value);
        });
    return result;
  }
};

class Tile final : public TileKernel {
 public:
  explicit Tile(const sdk::NodeView& node) : TileKernel(node) {}
  void run(sdk::Call& call) const override {
    const Dims repeats = read_ints(call, 1);
    if (repeats.rank() != call.shape(0).rank) {
      fail(std::to_string(repeats.rank()) + " repeats are given for a tensor of rank " +
           std::to_string(call.shape(0).rank));
    }
    tile(call, repeats);
  }
};

constexpr sdk::KernelRow kExpandRows[] = {
    {"Expand", 8, sdk::kLatest, sdk::kAllTypes, sdk::make<Expand>, {.signature_inputs = 0b10}},
    {"Tile", 1, 5, sdk::kAllTypes, sdk::make<TileAxis>, {.signature_inputs = 0b110}},
    {"Tile", 6, sdk::kLatest, sdk::kAllTypes, sdk::make<Tile>, {.signature_inputs = 0b10}},
};

}  // namespace

sdk::KernelTable expand_kernels() { return sdk::table(kExpandRows); }

}  // namespace gantry::cpu
