// SPDX-License-Identifier: Apache-2.0
// The epilogue of this provider's own int8 convolutions and matmuls. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuse/fusion.h"

namespace gantry::x86 {

/// One step, applied in order to x, the scaled sum. The unit of x (its measure) may change from
/// step to step; onednn/post_ops.h defines it.
struct Int8EpilogueStep {
  enum class Kind : uint8_t {
    kLinear,  ///< x * alpha + beta
    kRound,   ///< to the nearest integer, ties to even, then to [alpha, beta]
    kAdd,     ///< x * alpha + beta + factor * addend, the addend as stored in int8
    kRelu,    ///< x < 0 ? alpha * x : x
    kClip     ///< to [alpha, beta]
  } kind = Kind::kLinear;
  float alpha = 0;
  float beta = 0;
  float factor = 0;
  bool is_signed = false;  ///< the addend is s8, else u8
};

/// Element type of results.
enum class Int8Type : uint8_t { kU8, kS8, kF32, kS32 };

Int8Type int8_type_of(Type type);

/// The steps of a fusion, from result_scale() to the target's scale; nothing if this code
/// lacks one of them.
std::optional<std::vector<Int8EpilogueStep>> int8_epilogue_of(const Fusion& fusion);

}  // namespace gantry::x86
