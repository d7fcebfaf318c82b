// SPDX-License-Identifier: Apache-2.0
// Attention of f32 in one kernel, see attention/pattern.h.
#pragma once

#include "attention/pattern.h"
#include "fuse/kernels.h"

namespace gantry::x86 {

struct AttentionFusion : Fusion {
  Attention attention;
};

/// The root is the Softmax, or a node Attention.
std::unique_ptr<Fusion> match_attention(const MatchScope& scope, uint32_t root);
std::span<const Implementation> attention_implementations(const Fusion& fusion);

}  // namespace gantry::x86
