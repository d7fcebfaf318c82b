// SPDX-License-Identifier: Apache-2.0
// Functions element by element over a tile that stays in the nearest cache, one after the other, so
// that what lies between them never reaches memory. Written once with Highway for all instruction
// sets, see simd/instructions.h. Pure functions, from any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace gantry::x86 {

/// Elements of a tile, and of the memory behind each place but for the last tile's.
constexpr int64_t kTileElements = 1024;
/// Elements are taken by so many: a tile that has fewer behind its last one must be able to lose
/// what is written there.
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
  kGelu,     ///< by the hyperbolic tangent
  kGeluErf,  ///< by the error function
  kRelu,
  kLeakyRelu,    ///< alpha: what negative numbers are multiplied by
  kClip,         ///< alpha: lowest, beta: highest
  kHardSigmoid,  ///< clip(alpha * x + beta, 0, 1)
  kHardSwish,    ///< x * clip(alpha * x + beta, 0, 1)
  kSwish,        ///< x * sigmoid(alpha * x)
  kElu,          ///< alpha * (e^x - 1) below zero
  kMish          ///< x * tanh(ln(1 + e^x))
};

/// place[to] = operation(place[a], place[b]); `b` counts for those of two operands alone. `to` may
/// be one of them.
struct Instruction {
  Operation operation = Operation::kAdd;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t to = 0;
  float alpha = 0;
  float beta = 0;
};

/// `count` elements, up to kTileElements. `places`: where each stands.
void run_instructions(const std::vector<Instruction>& instructions, float* const* places,
                      int64_t count);

}  // namespace gantry::x86
