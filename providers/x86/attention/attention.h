// SPDX-License-Identifier: Apache-2.0
// f32 attention in one kernel; attention/pattern.h says what it matches.
#pragma once

#include "attention/pattern.h"
#include "fuse/kernels.h"

namespace gantry::x86 {

struct AttentionFusion : Fusion {
  Attention attention;
};

/// The attention whose root, a Softmax or an Attention node, is `root`; null: there is none.
std::unique_ptr<Fusion> match_attention(const MatchScope& scope, uint32_t root);
std::span<const Implementation> attention_implementations(const Fusion& fusion);

}  // namespace gantry::x86
