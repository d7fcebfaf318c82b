// SPDX-License-Identifier: Apache-2.0
#include "experts/layer.h"

#include <algorithm>
#include <array>

#include "fuse/constants.h"

namespace gantry::x86 {
namespace {

constexpr std::array<int64_t, 4> kBlocks = {128, 64, 32, 16};

/// Numbers that share a scale in packed weights: those of the node, or parts of its blocks; 0:
/// there is no such number.
int64_t packed_block(const LayerShape& shape) {
  const int64_t length = shape.block_size == 0 ? shape.inner : shape.block_size;
  for (const int64_t block : kBlocks) {
    if (length % block == 0) return block;
  }
  return shape.block_size == 0 ? kBlocks.back() : 0;
}

int64_t blocks_of_node(const LayerShape& shape) {
  return shape.block_size == 0 ? 1 : (shape.inner + shape.block_size - 1) / shape.block_size;
}

bool has_extents(const sdk::ValueView& value, const std::vector<int64_t>& extents) {
  if (value.rank() != static_cast<int>(extents.size())) return false;
  for (int axis = 0; axis < value.rank(); ++axis) {
    if (value.extent(axis) != extents[static_cast<size_t>(axis)]) return false;
  }
  return true;
}

int64_t bytes_of(int64_t numbers, int bits) { return (numbers * bits + 7) / 8; }

/// Number `index` of `bits` bits each, low bits first.
int number_at(const uint8_t* packed, int64_t index, int bits) {
  const int64_t first = index * bits;
  return (packed[first / 8] >> (first % 8)) & ((1 << bits) - 1);
}

/// One expert's matrix in PlainBlocks' layout, and what it points to.
class ExpertMatrix {
 public:
  ExpertMatrix(const LayerShape& shape, const sdk::NodeView& node, const LayerInputs& inputs,
               bool are_pairs)
      : shape_(shape),
        columns_(shape.columns),
        are_pairs_(are_pairs),
        weights_(static_cast<const uint8_t*>(node.input(inputs.weights).constant()->data)),
        zeros_(node.input(inputs.zeros).present()
                   ? static_cast<const uint8_t*>(node.input(inputs.zeros).constant()->data)
                   : nullptr),
        scales_(floats_of(node.input(inputs.scales))) {
    blocks_.shape = {shape.inner, shape.columns, packed_block(shape), std::max(shape.bits, 4)};
  }

  /// Valid until the next call.
  const PlainBlocks& of(int64_t expert) {
    const BlockShape& packed = blocks_.shape;
    numbers_.assign(static_cast<size_t>(columns_ * packed.padded() * packed.bits / 8), 0);
    const auto count = static_cast<size_t>(columns_ * packed.blocks());
    blocks_.scales.resize(count);
    blocks_.zeros.clear();
    // Half of the range of fewer bits than are kept is not half of the kept range.
    if (zeros_ || packed.bits != shape_.bits)
      blocks_.zeros.assign(count, static_cast<float>(1 << (shape_.bits - 1)));
    for (int64_t column = 0; column < columns_; ++column) {
      copy_numbers(expert, column);
      for (int64_t block = 0; block < packed.blocks(); ++block) copy_block(expert, column, block);
    }
    blocks_.numbers = numbers_.data();
    return blocks_;
  }

 private:
  /// The node's column that becomes `column`.
  [[nodiscard]] int64_t source_of(int64_t column) const {
    if (!are_pairs_) return column;
    const int64_t half = columns_ / 2;
    return column < half ? 2 * column : 2 * (column - half) + 1;
  }

  void copy_numbers(int64_t expert, int64_t column) {
    const BlockShape& packed = blocks_.shape;
    const int64_t bytes = bytes_of(shape_.inner, shape_.bits);
    const uint8_t* from = weights_ + (expert * columns_ + source_of(column)) * bytes;
    uint8_t* to = numbers_.data() + column * packed.padded() * packed.bits / 8;
    if (packed.bits == shape_.bits) {
      std::copy(from, from + bytes, to);
      return;
    }
    for (int64_t i = 0; i < shape_.inner; ++i) {  // 2 bits to 4
      const int number = number_at(from, i, shape_.bits);
      to[i / 2] = static_cast<uint8_t>(to[i / 2] | number << (i % 2 * packed.bits));
    }
  }

  void copy_block(int64_t expert, int64_t column, int64_t block) {
    const BlockShape& packed = blocks_.shape;
    const int64_t blocks = blocks_of_node(shape_);
    const int64_t row = expert * columns_ + source_of(column);
    const int64_t in_row = shape_.block_size == 0 ? 0 : block * packed.block / shape_.block_size;
    const auto to = static_cast<size_t>(column * packed.blocks() + block);
    blocks_.scales[to] = scales_[static_cast<size_t>(row * blocks + in_row)];
    if (!zeros_) return;
    // Without blocks they are packed along the columns of an expert.
    const bool is_by_column = shape_.block_size == 0;
    const int64_t first = is_by_column ? expert * bytes_of(columns_, shape_.bits)
                                       : row * bytes_of(blocks, shape_.bits);
    const int64_t index = is_by_column ? source_of(column) : in_row;
    blocks_.zeros[to] = static_cast<float>(number_at(zeros_ + first, index, shape_.bits));
  }

  LayerShape shape_;
  int64_t columns_;
  bool are_pairs_;
  const uint8_t* weights_;
  const uint8_t* zeros_;
  std::vector<float> scales_;
  std::vector<uint8_t> numbers_;
  PlainBlocks blocks_;
};

}  // namespace

LayerShape layer_shape_of(const sdk::NodeView& node, const LayerInputs& inputs) {
  LayerShape shape;
  const std::string of_layer = std::string(inputs.name) + "_expert_weight_bits";
  const int64_t bits = node.get_int("expert_weight_bits", 4);
  shape.bits = static_cast<int>(node.get_int(of_layer, bits));
  shape.block_size = node.input(inputs.scales).rank() == 3 ? node.get_int("block_size", 0) : 0;
  const sdk::ValueView weights = node.input(inputs.weights);
  shape.experts = weights.extent(0);
  shape.columns = weights.extent(1);
  shape.inner = shape.bits > 0 ? weights.extent(2) * 8 / shape.bits : 0;
  return shape;
}

std::string layer_refusal(const sdk::NodeView& node, const LayerInputs& inputs) {
  const std::string name = inputs.name;
  const auto is_constant = [&](int input, uint32_t dtype) {
    const sdk::ValueView value = node.input(input);
    return value.constant() && value.constant()->dtype == dtype;
  };
  if (!is_constant(inputs.weights, GANTRY_UINT8) || node.input(inputs.weights).rank() != 3)
    return name + "'s weights are no constant of uint8 with three axes";
  if (!is_constant(inputs.scales, GANTRY_FLOAT)) return name + "'s scales are no constant of f32";
  const LayerShape shape = layer_shape_of(node, inputs);
  if (shape.bits != 2 && shape.bits != 4 && shape.bits != 8)
    return name + "'s weights are not of 2, 4 or 8 bits";
  if (shape.experts < 1 || shape.columns < 1 || shape.inner < 1) return name + " is empty";
  if (shape.block_size < 0 || packed_block(shape) == 0)
    return name + "'s blocks are not of a multiple of 16 numbers";
  std::vector<int64_t> extents = {shape.experts, shape.columns};
  if (shape.block_size > 0) extents.push_back(blocks_of_node(shape));
  if (!has_extents(node.input(inputs.scales), extents))
    return name + "'s scales do not have the extents of its weights";
  extents.back() = bytes_of(extents.back(), shape.bits);
  const sdk::ValueView zeros = node.input(inputs.zeros);
  if (zeros.present() && (!is_constant(inputs.zeros, GANTRY_UINT8) || !has_extents(zeros, extents)))
    return name + "'s zero points are no constant of uint8 with the extents of its scales";
  const sdk::ValueView bias = node.input(inputs.bias);
  if (bias.present() && (!is_constant(inputs.bias, GANTRY_FLOAT) ||
                         !has_extents(bias, {shape.experts, shape.columns})))
    return name + "'s bias is no constant of f32 with the extents of its results";
  return {};
}

ExpertLayer pack_layer(const gantry_host* host, const sdk::NodeView& node,
                       const LayerInputs& inputs, bool are_pairs) {
  const LayerShape shape = layer_shape_of(node, inputs);
  ExpertMatrix matrix(shape, node, inputs, are_pairs);
  ExpertLayer layer;
  layer.matrices.resize(static_cast<size_t>(shape.experts));
  for (int64_t expert = 0; expert < shape.experts; ++expert) {
    const PlainBlocks& plain = matrix.of(expert);
    layer.shape = plain.shape;
    layer.matrices[static_cast<size_t>(expert)].pack(host, plain);
  }
  if (!node.input(inputs.bias).present()) return layer;
  layer.bias = floats_of(node.input(inputs.bias));
  if (are_pairs) {
    const std::vector<float> pairs = layer.bias;
    const auto half = static_cast<size_t>(shape.columns / 2);
    for (size_t i = 0; i < pairs.size(); ++i) {
      const size_t column = i % (2 * half);
      const size_t to = column / 2 + (column % 2) * half;
      layer.bias[i - column + to] = pairs[i];
    }
  }
  return layer;
}

}  // namespace gantry::x86
