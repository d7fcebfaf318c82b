// SPDX-License-Identifier: Apache-2.0
// What is done to sums of int8 products before they are stored, as this provider's own code
// for bytes does it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuse/fusion.h"

namespace gantry::x86 {

/// Steps are taken in order, on results in the measures that epilogue.h explains.
struct Int8EpilogueStep {
  enum class Kind : uint8_t {
    kLinear,  ///< x * alpha + beta
    kRound,   ///< to the nearest integer, the even one of two, and to [alpha, beta]
    kAdd,     ///< x * alpha + beta + factor * addend, the addend being a stored number of int8
    kRelu,    ///< x < 0 ? alpha * x : x
    kClip     ///< to [alpha, beta]
  } kind = Kind::kLinear;
  float alpha = 0;
  float beta = 0;
  float factor = 0;
  bool is_signed = false;  ///< the addend is
};

/// Element type of results.
enum class Int8Type : uint8_t { kU8, kS8, kF32, kS32 };

Int8Type int8_type_of(Type type);

/// A fusion's steps, from measure_of_results() to the target's scale; nothing: there is one among
/// them that this code does not have.
std::optional<std::vector<Int8EpilogueStep>> int8_epilogue_of(const Fusion& fusion);

}  // namespace gantry::x86
