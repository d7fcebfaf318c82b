// SPDX-License-Identifier: Apache-2.0
// The epilogue of kernels.h.
#pragma once

#include <cstdint>

#include "conv/winograd/code.h"
#include "conv/winograd/vectors.h"

namespace gantry::x86::winograd::GANTRY_INSTRUCTIONS {

/// Applies a step to a row of results, `count` channels of each. `addend`: its element for the
/// first result; read for tile.columns results.
template <int kTile, bool kIsWhole>
GANTRY_TARGET inline void take_step(const Step& step, const OutputTile& tile, const float* addend,
                                    int64_t count, Vector* y) {
  const Vector zero = {};
  const float alpha = step.alpha;
  const float beta = step.beta;
  switch (step.kind) {
    case Step::Kind::kAdd: {
      const int columns = kIsWhole ? kTile : tile.columns;
      for (int i = 0; i < columns; ++i) {
        y[i] += kIsWhole ? load(addend) : load_some(addend, count);
        addend += tile.column_stride;
      }
      break;
    }
    case Step::Kind::kRelu:
      // With alpha 0 nothing is multiplied: minus infinity times 0 would be NaN.
      for (int i = 0; i < kTile; ++i) {
        if (alpha == 0) {
          y[i] = y[i] < zero ? zero : y[i];
        } else {
          y[i] = y[i] > zero ? y[i] : y[i] * alpha;
        }
      }
      break;
    case Step::Kind::kClip:
      for (int i = 0; i < kTile; ++i) {
        y[i] = y[i] < alpha ? zero + alpha : y[i];
        y[i] = y[i] > beta ? zero + beta : y[i];
      }
      break;
    case Step::Kind::kHardSigmoid:
    case Step::Kind::kHardSwish:
      for (int i = 0; i < kTile; ++i) {
        Vector gate = alpha * y[i] + beta;
        gate = gate < zero ? zero : gate;
        gate = gate > 1.0F ? zero + 1.0F : gate;
        y[i] = step.kind == Step::Kind::kHardSwish ? y[i] * gate : gate;
      }
      break;
    case Step::Kind::kSigmoid:
      for (int i = 0; i < kTile; ++i) y[i] = sigmoid(y[i]);
      break;
    case Step::Kind::kSwish:
      for (int i = 0; i < kTile; ++i) y[i] = y[i] * sigmoid(alpha * y[i]);
      break;
    case Step::Kind::kMish:
      for (int i = 0; i < kTile; ++i) y[i] = mish(y[i]);
      break;
  }
}

}  // namespace gantry::x86::winograd::GANTRY_INSTRUCTIONS
