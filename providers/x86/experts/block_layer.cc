// SPDX-License-Identifier: Apache-2.0
// Layers of QMoE. Inputs of a layer: weights uint8 [experts, columns, inner * bits / 8], low bits
// first; scales f32 [experts, columns] or, in blocks, [experts, columns, blocks]; zero points
// (optional) as the scales, packed as the weights are along the last axis.
#include <algorithm>
#include <array>

#include "experts/layer.h"
#include "fuse/constants.h"
#include "matmul/nbits/tiled_rows.h"
#include "matmul/nbits/weights.h"

namespace gantry::x86 {
namespace {

constexpr std::array<int64_t, 4> kBlocks = {128, 64, 32, 16};

/// A layer as the node describes it.
struct BlockForm : LayerShape {
  int bits = 4;
  int64_t block_size = 0;  ///< of the node; 0: a scale for each column
};

BlockForm form_of(const sdk::NodeView& node, const LayerInputs& inputs) {
  BlockForm form;
  const std::string of_layer = std::string(inputs.name) + "_expert_weight_bits";
  const int64_t bits = node.get_int("expert_weight_bits", 4);
  form.bits = static_cast<int>(node.get_int(of_layer, bits));
  form.block_size = node.input(inputs.scales).rank() == 3 ? node.get_int("block_size", 0) : 0;
  const sdk::ValueView weights = node.input(inputs.weights);
  form.experts = weights.extent(0);
  form.columns = weights.extent(1);
  form.inner = form.bits > 0 ? weights.extent(2) * 8 / form.bits : 0;
  return form;
}

/// Numbers that share a scale in packed weights: those of the node, or parts of its blocks; 0:
/// there is no such number.
int64_t packed_block(const BlockForm& form) {
  const int64_t length = form.block_size == 0 ? form.inner : form.block_size;
  for (const int64_t block : kBlocks) {
    if (length % block == 0) return block;
  }
  return form.block_size == 0 ? kBlocks.back() : 0;
}

int64_t blocks_of_node(const BlockForm& form) {
  return form.block_size == 0 ? 1 : (form.inner + form.block_size - 1) / form.block_size;
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
  ExpertMatrix(const BlockForm& form, const LayerWeights& layer, const sdk::NodeView& node,
               const LayerInputs& inputs)
      : form_(form),
        layer_(layer),
        columns_(form.columns),
        weights_(static_cast<const uint8_t*>(node.input(inputs.weights).constant()->data)),
        zeros_(node.input(inputs.zeros).present()
                   ? static_cast<const uint8_t*>(node.input(inputs.zeros).constant()->data)
                   : nullptr),
        scales_(floats_of(node.input(inputs.scales))) {
    blocks_.shape = {form.inner, form.columns, packed_block(form), std::max(form.bits, 4)};
  }

  /// Valid until the next call.
  const PlainBlocks& of(int64_t expert) {
    const BlockShape& packed = blocks_.shape;
    numbers_.assign(static_cast<size_t>(columns_ * packed.padded() * packed.bits / 8), 0);
    const auto count = static_cast<size_t>(columns_ * packed.blocks());
    blocks_.scales.resize(count);
    blocks_.zeros.clear();
    // Half of the range of fewer bits than are kept is not half of the kept range.
    if (zeros_ || packed.bits != form_.bits)
      blocks_.zeros.assign(count, static_cast<float>(1 << (form_.bits - 1)));
    for (int64_t column = 0; column < columns_; ++column) {
      copy_numbers(expert, column);
      for (int64_t block = 0; block < packed.blocks(); ++block) copy_block(expert, column, block);
    }
    blocks_.numbers = numbers_.data();
    return blocks_;
  }

 private:
  void copy_numbers(int64_t expert, int64_t column) {
    const BlockShape& packed = blocks_.shape;
    const int64_t bytes = bytes_of(form_.inner, form_.bits);
    const uint8_t* from = weights_ + layer_.row_of(expert, column) * bytes;
    uint8_t* to = numbers_.data() + column * packed.padded() * packed.bits / 8;
    if (packed.bits == form_.bits) {
      std::copy(from, from + bytes, to);
      return;
    }
    for (int64_t i = 0; i < form_.inner; ++i) {  // 2 bits to 4
      const int number = number_at(from, i, form_.bits);
      to[i / 2] = static_cast<uint8_t>(to[i / 2] | number << (i % 2 * packed.bits));
    }
  }

  void copy_block(int64_t expert, int64_t column, int64_t block) {
    const BlockShape& packed = blocks_.shape;
    const int64_t blocks = blocks_of_node(form_);
    const int64_t row = layer_.row_of(expert, column);
    const int64_t in_row = form_.block_size == 0 ? 0 : block * packed.block / form_.block_size;
    const auto to = static_cast<size_t>(column * packed.blocks() + block);
    blocks_.scales[to] = scales_[static_cast<size_t>(row * blocks + in_row)];
    if (!zeros_) return;
    // Without blocks they are packed along the columns of an expert.
    const bool is_by_column = form_.block_size == 0;
    const int64_t first =
        is_by_column ? expert * bytes_of(columns_, form_.bits) : row * bytes_of(blocks, form_.bits);
    const int64_t index = is_by_column ? row - expert * columns_ : in_row;
    blocks_.zeros[to] = static_cast<float>(number_at(zeros_ + first, index, form_.bits));
  }

  BlockForm form_;
  const LayerWeights& layer_;
  int64_t columns_;
  const uint8_t* weights_;
  const uint8_t* zeros_;
  std::vector<float> scales_;
  std::vector<uint8_t> numbers_;
  PlainBlocks blocks_;
};

class BlockLayer final : public ExpertLayer {
 public:
  BlockLayer(const gantry_host* host, const LayerWeights& weights, ExpertMatrix& matrix)
      : ExpertLayer(weights.shape),
        matrices_(static_cast<size_t>(weights.shape.experts)),
        bias_(weights.bias) {
    for (int64_t expert = 0; expert < shape().experts; ++expert) {
      const PlainBlocks& plain = matrix.of(expert);
      packed_ = plain.shape;
      matrices_[static_cast<size_t>(expert)].pack(host, plain);
    }
  }

  void multiply(sdk::Call& call, const Routes& routes, const float* source, const int64_t* order,
                float* target) const override {
    const TiledRows rows(call, packed_, true, routes.counts);
    rows.fill(call, matrices_, source, order);
    rows.multiply(call, matrices_, bias_.empty() ? nullptr : bias_.data(), target);
  }

 private:
  BlockShape packed_;  // of each matrix
  std::vector<BlockWeights> matrices_;
  std::vector<float> bias_;
};

LayerShape block_layer_shape(const sdk::NodeView& node, const LayerInputs& inputs) {
  const BlockForm form = form_of(node, inputs);
  return {form.experts, form.columns, form.inner};
}

std::string block_layer_refusal(const sdk::NodeView& node, const LayerInputs& inputs) {
  const std::string name = inputs.name;
  const auto is_constant = [&](int input, uint32_t dtype) {
    const sdk::ValueView value = node.input(input);
    return value.constant() && value.constant()->dtype == dtype;
  };
  if (!is_constant(inputs.weights, GANTRY_UINT8) || node.input(inputs.weights).rank() != 3)
    return name + "'s weights are no constant of uint8 with three axes";
  if (!is_constant(inputs.scales, GANTRY_FLOAT)) return name + "'s scales are no constant of f32";
  const BlockForm form = form_of(node, inputs);
  if (form.bits != 2 && form.bits != 4 && form.bits != 8)
    return name + "'s weights are not of 2, 4 or 8 bits";
  if (form.experts < 1 || form.columns < 1 || form.inner < 1) return name + " is empty";
  if (form.block_size < 0 || packed_block(form) == 0)
    return name + "'s blocks are not of a multiple of 16 numbers";
  std::vector<int64_t> extents = {form.experts, form.columns};
  if (form.block_size > 0) extents.push_back(blocks_of_node(form));
  if (!has_extents(node.input(inputs.scales), extents))
    return name + "'s scales do not have the extents of its weights";
  extents.back() = bytes_of(extents.back(), form.bits);
  const sdk::ValueView zeros = node.input(inputs.zeros);
  if (zeros.present() && (!is_constant(inputs.zeros, GANTRY_UINT8) || !has_extents(zeros, extents)))
    return name + "'s zero points are no constant of uint8 with the extents of its scales";
  return bias_refusal(node, inputs, form);
}

std::unique_ptr<ExpertLayer> make_block_layer(const gantry_host* host, const sdk::NodeView& node,
                                              const LayerInputs& inputs, bool are_pairs) {
  const BlockForm form = form_of(node, inputs);
  const LayerWeights weights(node, inputs, form, are_pairs);
  ExpertMatrix matrix(form, weights, node, inputs);
  return std::make_unique<BlockLayer>(host, weights, matrix);
}

}  // namespace

const LayerKind kBlockLayers = {block_layer_shape, block_layer_refusal, make_block_layer};

}  // namespace gantry::x86
