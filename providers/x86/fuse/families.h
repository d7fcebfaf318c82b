// SPDX-License-Identifier: Apache-2.0
// The families of kernels of this provider, in one table: what each matches, what it refuses, and
// what may compute it. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "fuse/kernels.h"
#include "fuse/match_scope.h"

namespace gantry::x86 {

/// Families of kernels; the row of a claim's tag is one of them.
enum FamilyIndex : size_t {
  kConv,
  kMatMul,
  kPool,
  kConcat,
  kEltwise,
  kMatMulInteger,
  kMatMulNBits,
  kAttention,
  kRecurrent,
  kDynamicQuantizeLstm,
  kElementwise,
  kDynamicMatMul,
  kConvTranspose,
  kDepthwiseBlock,
  kInt8Lookup,
  kExperts,
  kFamilyCount
};

struct Family {
  const char* kernel;  ///< name shown to users
  /// What is fused at a root node; null: nothing is. Asked over the whole graph for a claim, and
  /// over the claim's nodes when it is compiled.
  std::unique_ptr<Fusion> (*match)(const MatchScope& scope, uint32_t root);
  /// Why the family does not take a match, a sentence without a final stop; empty: it does.
  std::string (*refusal)(const GraphIndex& index, const Fusion& fusion);
  /// The implementations that may compute a match, the preferred first; the last takes every one.
  std::span<const Implementation> (*implementations)(const Fusion& fusion);
  /// whether an input of the root that is constant is read when the claim is compiled
  bool (*is_parameter)(const GraphIndex& index, uint32_t node, uint32_t position);
  bool has_channels = false;                ///< its tensors can stand channels-last
  bool starts_format = false;               ///< its output is channels-last whatever the input is
  bool needs_format = false;                ///< taken only where an input stands channels-last
  const char* (*instructions)() = nullptr;  ///< of kernels whose code is this provider's own
  bool is_set = false;                      ///< of equal nodes, none of which is the root
};

extern const std::array<Family, kFamilyCount> kFamilies;

/// The family that fuses nodes around a root of an operator of ai.onnx; of operators that no family
/// names: kEltwise, which refuses them.
FamilyIndex family_of(std::string_view op_type);
bool is_recurrent(std::string_view op_type);
/// Of those that a pool over the whole plane is.
bool is_reduction(std::string_view op_type);

}  // namespace gantry::x86
