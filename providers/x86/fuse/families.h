// SPDX-License-Identifier: Apache-2.0
// The kernel families of this provider, in one table: what each one matches and refuses, and its
// implementations. Pure.
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

/// Rows of kFamilies. A claim's tag (sdk::FusionTag) holds one of them.
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
  /// The fusion at a root node; null: none. Called over the whole graph for a claim, and over the
  /// claim's nodes when it is compiled: both calls must find the same nodes.
  std::unique_ptr<Fusion> (*match)(const MatchScope& scope, uint32_t root);
  /// Why the family does not run a match, a sentence without a final stop; empty: it does.
  std::string (*refusal)(const GraphIndex& index, const Fusion& fusion);
  /// The implementations of a match, the preferred first. The last one refuses none.
  std::span<const Implementation> (*implementations)(const Fusion& fusion);
  /// True if a constant input is read only when the claim is compiled, so that a run need not have
  /// it. Called for the root, and with is_set for every node.
  bool (*is_parameter)(const GraphIndex& index, uint32_t node, uint32_t position);
  bool has_channels = false;   ///< its tensors may be channels-last
  bool starts_format = false;  ///< its output is channels-last even if its inputs are not
  bool needs_format = false;   ///< claimed only if an input is channels-last
  const char* (*instructions)() = nullptr;  ///< instruction set for the kernel's name; null: none
  bool is_set = false;                      ///< is_parameter is called for every node
};

extern const std::array<Family, kFamilyCount> kFamilies;

/// The family whose root is an ai.onnx operator. Unknown operators: kEltwise, which refuses them.
FamilyIndex family_of(std::string_view op_type);
/// LSTM, GRU, RNN and DynamicQuantizeLSTM.
bool is_recurrent(std::string_view op_type);
/// ReduceMean and ReduceMax, which are global pools if they reduce all spatial axes.
bool is_reduction(std::string_view op_type);

}  // namespace gantry::x86
