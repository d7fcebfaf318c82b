// SPDX-License-Identifier: Apache-2.0
// MatMulNBits (com.microsoft 1). The constant matrix stays in 4 or 8 bits in memory, since reading
// it bounds a skinny GEMM. If accuracy_level allows it, the other matrix is quantized to int8, and
// the products are integers.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <optional>

#include "fuse/constants.h"
#include "fuse/kernels.h"
#include "matmul/nbits/dequantized_rows.h"
#include "matmul/nbits/tiled_rows.h"
#include "matmul/nbits/weights.h"
#include "matmul/packed/code.h"
#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

enum Input : uint8_t { kLeft, kNumbers, kScales, kZeros, kOrder, kBias };
constexpr int kNumbersOfBytes = 4;  // least accuracy_level that allows int8 for the left matrix

constexpr float kScaleTolerance = 1.0F / 8192;  // far below the error of int8 rows

BlockShape shape_of(const sdk::NodeView& node) {
  return {node.get_int("K", 0), node.get_int("N", 0), node.get_int("block_size", 0),
          static_cast<int>(node.get_int("bits", 4))};
}

bool keeps_floats(const sdk::NodeView& node) {
  return node.get_int("accuracy_level", 0) < kNumbersOfBytes;
}

int64_t bytes_of_zeros(const BlockShape& shape) { return (shape.blocks() * shape.bits + 7) / 8; }

/// Zero points as floats; empty: none. The model has them as floats, or packed like the weights.
std::vector<float> zeros_of(const sdk::NodeView& node, const BlockShape& shape) {
  if (!node.input(kZeros).present()) return {};
  if (node.input(kZeros).dtype() == GANTRY_FLOAT) return floats_of(node.input(kZeros));
  const auto* packed = static_cast<const uint8_t*>(node.input(kZeros).constant()->data);
  std::vector<float> zeros;
  zeros.reserve(static_cast<size_t>(shape.columns * shape.blocks()));
  for (int64_t column = 0; column < shape.columns; ++column) {
    const uint8_t* row = packed + column * bytes_of_zeros(shape);
    for (int64_t block = 0; block < shape.blocks(); ++block) {
      const int number =
          shape.bits == 8 ? row[block] : (row[block / 2] >> (block % 2 == 0 ? 0 : 4)) & 15;
      zeros.push_back(static_cast<float>(number));
    }
  }
  return zeros;
}

bool is_constant_of(const sdk::ValueView& value, uint32_t dtype, int64_t count) {
  return value.constant() && value.constant()->dtype == dtype && element_count(value) == count;
}

class MatMulNBitsKernel final : public sdk::Kernel {
 public:
  explicit MatMulNBitsKernel(const KernelArgs& args) {
    const sdk::NodeView node = args.index.node(args.fusion.root);
    label_ = node.label();
    shape_ = shape_of(node);
    in_floats_ = keeps_floats(node);
    if (node.input(kBias).present()) {
      bias_ = floats_of(node.input(kBias));
      bias_.resize(static_cast<size_t>(divided_up(shape_.columns, kPanelColumns) * kPanelColumns));
    }
    weights_.pack(
        args.index.host(),
        {shape_, static_cast<const uint8_t*>(node.input(kNumbers).constant()->data),
         floats_of(node.input(kScales)), zeros_of(node, shape_), in_floats_ ? 0 : kScaleTolerance});
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape input = call.shape(kLeft);
    if (input.rank < 1 || input.rank > 8 || input[input.rank - 1] != shape_.inner) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       label_ + ": the last extent of input 0 was expected to be " +
                           std::to_string(shape_.inner) + ", the attribute K, and is " +
                           (input.rank > 0 ? std::to_string(input[input.rank - 1]) : "absent"));
    }
    std::array<int64_t, 8> extents{};
    std::copy(input.data, input.data + input.rank, extents.begin());
    extents[static_cast<size_t>(input.rank) - 1] = shape_.columns;
    gantry_tensor& target = call.output(0, GANTRY_FLOAT, {extents.data(), input.rank});
    const int64_t count = input.count(0, input.rank - 1);
    if (count == 0) return;
    const float* bias = bias_.empty() ? nullptr : bias_.data();
    const auto* source = call.data<float>(kLeft);
    auto* result = static_cast<float*>(target.data);
    if (in_floats_ && takes_dequantized(count))
      return multiply_dequantized(call, weights_, count, source, bias, result);
    const TiledRows rows(call, shape_, in_floats_, {&count, 1});
    rows.fill(call, {&weights_, 1}, source, nullptr);
    rows.multiply(call, {&weights_, 1}, bias, result);
  }

 private:
  std::string label_;
  BlockShape shape_;
  bool in_floats_ = false;
  std::vector<float> bias_;  // of whole panels; empty: none
  BlockWeights weights_;
};

Made make_int8_rows(const KernelArgs& args) {
  if (keeps_floats(args.index.node(args.fusion.root)))
    return refuse("its accuracy_level does not allow to round the first matrix to 8 bits");
  return made<MatMulNBitsKernel>(args);
}

}  // namespace

std::string matmul_nbits_refusal(const GraphIndex& index, const Fusion& fusion) {
  const sdk::NodeView node = index.node(fusion.root);
  const BlockShape shape = shape_of(node);
  if (keeps_floats(node) && !block_code().multiply_floats) {
    return "its accuracy_level does not allow to round the first matrix to 8 bits, and without "
           "AVX2 there is no code for its floats";
  }
  if (node.input(kLeft).dtype() != GANTRY_FLOAT) return "only float32 is taken";
  if (node.input(kLeft).rank() > 8 || node.input(kLeft).rank() == 0)
    return "the first tensor is not of rank 1 to 8";
  if (shape.bits != 4 && shape.bits != 8) return "its numbers are not of 4 or 8 bits";
  constexpr std::array<int64_t, 4> kBlocks = {16, 32, 64, 128};
  if (std::find(kBlocks.begin(), kBlocks.end(), shape.block) == kBlocks.end())
    return "its blocks are not of 16, 32, 64 or 128 numbers";
  if (shape.inner < 1 || shape.columns < 1) return "the second matrix is empty";
  if (node.get_int("weight_prepacked", 0) != 0) return "the second matrix is in another order";
  if (node.input(kOrder).present()) return "its rows have an order of their own (g_idx)";
  const int64_t blocks = shape.columns * shape.blocks();
  if (!is_constant_of(node.input(kNumbers), GANTRY_UINT8, blocks * shape.block * shape.bits / 8) ||
      !is_constant_of(node.input(kScales), GANTRY_FLOAT, blocks))
    return "the second matrix and its scales are not constant, of uint8 and float32";
  const sdk::ValueView zeros = node.input(kZeros);
  if (zeros.present() && !is_constant_of(zeros, GANTRY_FLOAT, blocks) &&
      !is_constant_of(zeros, GANTRY_UINT8, shape.columns * bytes_of_zeros(shape)))
    return "its zero points are not constant, of uint8 or float32";
  if (node.input(kBias).present() &&
      !is_constant_of(node.input(kBias), GANTRY_FLOAT, shape.columns))
    return "its bias is not a constant row";
  return {};
}

std::span<const Implementation> matmul_nbits_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {{"int8 rows", make_int8_rows},
                                            {"f32 rows", make_always<MatMulNBitsKernel>}};
  return kAll;
}

}  // namespace gantry::x86
