// SPDX-License-Identifier: Apache-2.0
// Layers of MoE: a packed matmul for each expert.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "experts/layer.h"
#include "matmul/packed/layer.h"

namespace gantry::x86 {
namespace {

class FloatLayer final : public ExpertLayer {
 public:
  FloatLayer(const gantry_host* host, const LayerWeights& weights, const void* data)
      : ExpertLayer(weights.shape), matrices_(static_cast<size_t>(weights.shape.experts)) {
    const auto columns = static_cast<size_t>(shape().columns);
    const auto row_bytes = static_cast<size_t>(shape().inner) * sizeof(float);
    std::vector<std::byte> matrix(columns * row_bytes);
    for (size_t expert = 0; expert < matrices_.size(); ++expert) {
      for (size_t column = 0; column < columns; ++column) {
        const auto row = static_cast<size_t>(
            weights.row_of(static_cast<int64_t>(expert), static_cast<int64_t>(column)));
        std::memcpy(matrix.data() + column * row_bytes,
                    static_cast<const std::byte*>(data) + row * row_bytes, row_bytes);
      }
      PanelWeights::Plain plain;
      plain.data = matrix.data();
      plain.inner = shape().inner;
      plain.columns = shape().columns;
      plain.is_transposed = true;
      std::vector<float> bias;
      if (!weights.bias.empty()) {
        const float* first = weights.bias.data() + expert * columns;
        bias.assign(first, first + columns);
      }
      sdk::Choices choices;  // of one matrix
      matrices_[expert].pack(host, choices, plain, bias, {});
    }
  }

  void multiply(sdk::Call& call, const Routes& routes, const float* source, const int64_t* order,
                float* target) const override {
    const float* rows = order ? gather(call, routes, source, order) : source;
    for (size_t expert = 0; expert < matrices_.size(); ++expert) {
      const int64_t count = routes.counts[expert];
      if (count > 0) matrices_[expert].run(call, count, rows, nullptr, target);
      rows += count * shape().inner;
      target += count * shape().columns;
    }
  }

 private:
  const float* gather(sdk::Call& call, const Routes& routes, const float* source,
                      const int64_t* order) const {
    constexpr int64_t kElementsPerTask = 1 << 15;
    const auto count = static_cast<int64_t>(routes.tokens.size());
    const int64_t inner = shape().inner;
    auto* rows = call.scratch<float>(count * inner);
    call.parallel_for(count, std::max<int64_t>(1, kElementsPerTask / inner),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t row = begin; row < end; ++row) {
                          const float* from = source + order[row] * inner;
                          std::copy(from, from + inner, rows + row * inner);
                        }
                      });
    return rows;
  }

  std::vector<PackedMatMul> matrices_;
};

LayerShape float_layer_shape(const sdk::NodeView& node, const LayerInputs& inputs) {
  const sdk::ValueView weights = node.input(inputs.weights);
  return {weights.extent(0), weights.extent(1), weights.extent(2)};
}

std::string float_layer_refusal(const sdk::NodeView& node, const LayerInputs& inputs) {
  const std::string name = inputs.name;
  const sdk::ValueView weights = node.input(inputs.weights);
  if (!weights.constant() || weights.constant()->dtype != GANTRY_FLOAT || weights.rank() != 3)
    return name + "'s weights are no constant of f32 with three axes";
  const LayerShape shape = float_layer_shape(node, inputs);
  if (shape.experts < 1 || shape.columns < 1 || shape.inner < 1) return name + " is empty";
  if (!PackedMatMul::takes(shape.columns)) return name + " has too few results for a panel";
  return bias_refusal(node, inputs, shape);
}

std::unique_ptr<ExpertLayer> make_float_layer(const gantry_host* host, const sdk::NodeView& node,
                                              const LayerInputs& inputs, bool are_pairs) {
  const LayerWeights weights(node, inputs, float_layer_shape(node, inputs), are_pairs);
  return std::make_unique<FloatLayer>(host, weights, node.input(inputs.weights).constant()->data);
}

}  // namespace

const LayerKind kFloatLayers = {float_layer_shape, float_layer_refusal, make_float_layer};

}  // namespace gantry::x86
