// SPDX-License-Identifier: Apache-2.0
// One layer of all experts of a mixture (MoE, QMoE of com.microsoft 1): a matrix for each.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experts/routes.h"

namespace gantry::x86 {

constexpr int kNoInput = -1;

/// Inputs of the node that belong to a layer, by position.
struct LayerInputs {
  const char* name;  ///< as ONNX Runtime's documentation has it: "fc1"
  int weights;       ///< [experts, columns, inner]: f32, or packed (experts/block_layer.cc)
  int bias;          ///< f32 [experts, columns]; optional
  int scales = kNoInput;
  int zeros = kNoInput;
};

struct LayerShape {
  int64_t experts = 0;
  int64_t columns = 0;  ///< numbers of a result
  int64_t inner = 0;    ///< numbers of a row
};

/// What a layer is made of, in the order of its results.
struct LayerWeights {
  /// `are_pairs`: columns 2i and 2i + 1 of the node, gate and linear part of SwiGLU, become columns
  /// i and columns / 2 + i.
  LayerWeights(const sdk::NodeView& node, const LayerInputs& inputs, const LayerShape& shape,
               bool are_pairs);

  /// Which of the node's [experts * columns] rows of weights is that of `column`.
  [[nodiscard]] int64_t row_of(int64_t expert, int64_t column) const;

  LayerShape shape;
  std::vector<float> bias;  ///< [experts, columns]; empty: none

 private:
  bool are_pairs_;
};

bool has_extents(const sdk::ValueView& value, const std::vector<int64_t>& extents);

/// Why the bias cannot be added, a sentence without a final stop; empty: it can.
std::string bias_refusal(const sdk::NodeView& node, const LayerInputs& inputs,
                         const LayerShape& shape);

/// Immutable once made.
class ExpertLayer {
 public:
  explicit ExpertLayer(const LayerShape& shape) : shape_(shape) {}
  ExpertLayer(const ExpertLayer&) = delete;
  ExpertLayer& operator=(const ExpertLayer&) = delete;
  virtual ~ExpertLayer() = default;

  [[nodiscard]] const LayerShape& shape() const { return shape_; }
  /// target[i], [rows, columns] = row i times the transpose of its expert's matrix, and the bias.
  /// `order[i]`: which row of `source`, [.., inner], is row i; null: the i-th. Takes scratch memory
  /// of the call: how much follows from the number of rows. [any]
  virtual void multiply(sdk::Call& call, const Routes& routes, const float* source,
                        const int64_t* order, float* target) const = 0;

 private:
  LayerShape shape_;
};

/// How layers of an operator are made.
struct LayerKind {
  /// Of the weights' extents and the node's attributes. Requires weights of rank 3.
  LayerShape (*shape)(const sdk::NodeView& node, const LayerInputs& inputs);
  /// Why a layer cannot be packed, a sentence without a final stop; empty: it can.
  std::string (*refusal)(const sdk::NodeView& node, const LayerInputs& inputs);
  /// Requires that there is no refusal. `are_pairs`: as of LayerWeights. Errors: OUT_OF_MEMORY.
  std::unique_ptr<ExpertLayer> (*make)(const gantry_host* host, const sdk::NodeView& node,
                                       const LayerInputs& inputs, bool are_pairs);
};

/// Of MoE: the experts' matrices are f32.
extern const LayerKind kFloatLayers;
/// Of QMoE: the experts' matrices stay in 2, 4 or 8 bits in memory, in blocks that share a scale.
extern const LayerKind kBlockLayers;

}  // namespace gantry::x86
