// SPDX-License-Identifier: Apache-2.0
// Element-wise instructions over a tile of elements, one after the other, whose intermediate
// results stay in the L1 cache. Written once with Highway for all instruction sets
// (simd/instructions.h). Pure functions, from any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace gantry::x86 {

/// Most elements of a tile.
constexpr int64_t kTileElements = 1024;
/// Elements are processed in steps of this many. Each slot must have memory for whole steps: a
/// partial last step is read and written as a whole.
constexpr int64_t kTileStep = 16;

enum class Operation : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kNeg,
  kAbs,
  kSquare,
  kCube,
  kSqrt,
  kReciprocal,
  kExp,
  kSigmoid,
  kTanh,
  kGelu,     ///< tanh approximation
  kGeluErf,  ///< exact, by erf
  kRelu,
  kLeakyRelu,    ///< x < 0 ? alpha * x : x
  kClip,         ///< to [alpha, beta]
  kHardSigmoid,  ///< clip(alpha * x + beta, 0, 1)
  kHardSwish,    ///< x * clip(alpha * x + beta, 0, 1)
  kSwish,        ///< x * sigmoid(alpha * x)
  kElu,          ///< alpha * (e^x - 1) below zero
  kMish          ///< x * tanh(ln(1 + e^x))
};

/// slot[to] = operation(slot[a], slot[b]); operations of one operand ignore `b`. `to` may be a or
/// b.
struct Instruction {
  Operation operation = Operation::kAdd;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t to = 0;
  float alpha = 0;
  float beta = 0;
};

/// Runs the instructions on `count` elements, up to kTileElements. `slots`: memory of each.
void run_instructions(const std::vector<Instruction>& instructions, float* const* slots,
                      int64_t count);

}  // namespace gantry::x86
