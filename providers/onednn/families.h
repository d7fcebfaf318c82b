// SPDX-License-Identifier: Apache-2.0
// The families of kernels of this provider, in one table: what each takes, and how it is made.
// Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/kernels.h"

namespace gantry::onednn {

/// Families of kernels; a claim's tag is one of them.
enum FamilyIndex : size_t {
  kConv,
  kProduct,
  kPool,
  kConcat,
  kPointwise,
  kIntegerProduct,
  kBlockProduct,
  kAttention,
  kRecurrent,
  kElementwise,
  kTensorProduct,
  kDeconv,
  kDepthwiseBlock,
  kByteFunction,
  kFamilyCount
};

struct Family {
  const char* kernel;  // name shown to users
  /// Null: nodes are claimed and compiled by a way of the family's own, as `make` is null too.
  std::string (*refusal)(const GraphIndex& index, const Unit& unit) = nullptr;
  /// of anchors that take the nodes behind them along; null: they do not
  AnchorTraits (*traits)(const GraphIndex& index, uint32_t node) = nullptr;
  std::unique_ptr<sdk::Kernel> (*make)(const KernelArgs& args) = nullptr;
  /// whether an input of the anchor that is constant is read when the claim is compiled
  bool (*is_parameter)(const GraphIndex& index, uint32_t node, uint32_t position);
  bool has_channels = false;                // its tensors can stand channels-last
  bool starts_format = false;               // its output is channels-last whatever the input is
  bool needs_format = false;                // taken only where an input stands channels-last
  const char* (*instructions)() = nullptr;  // of kernels whose code is this provider's own
  bool is_set = false;                      // of equal nodes, none of which is the anchor
};

extern const std::array<Family, kFamilyCount> kFamilies;

/// Of an operator of ai.onnx; those that no family names are asked of as pointwise ones.
FamilyIndex family_of(std::string_view op_type);
bool is_recurrent(std::string_view op_type);
/// Of those that a pool over the whole plane is.
bool is_reduction(std::string_view op_type);

}  // namespace gantry::onednn
