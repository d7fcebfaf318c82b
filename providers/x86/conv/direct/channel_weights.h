// SPDX-License-Identifier: Apache-2.0
// Packed weights and biases of direct/code.h and nchw.h.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace gantry::x86 {

/// Immutable once packed.
class ChannelWeights {
 public:
  /// Weights as the model has them: [groups, columns, inner]. Columns are output channels of a
  /// group, inner is input channels * taps. A depthwise convolution is one group here, its channels
  /// being the columns and its taps the inner axis.
  struct Plain {
    int64_t groups = 0;
    int64_t columns = 0;
    int64_t inner = 0;
    const void* numbers = nullptr;  ///< f32, of any alignment
    /// [groups, columns], multiplied into the weights; empty: 1
    std::vector<float> scales;
  };
  /// Packs the scaled weights into [groups, blocks, inner, kChannelBlock] or, if
  /// `channels_innermost`, into [groups, inner, blocks, kChannelBlock], padded with zeros. Equal
  /// packed weights share memory within the process. Does not keep `plain`.
  /// Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, const Plain& plain, bool channels_innermost);
  /// `bias`: [groups, columns]. bias() is [groups, blocks, kChannelBlock].
  void set_bias(const std::vector<float>& bias, int64_t groups, int64_t columns);

  [[nodiscard]] const float* numbers() const { return static_cast<const float*>(share_.get()); }
  [[nodiscard]] const float* bias() const { return bias_.data(); }

 private:
  std::shared_ptr<const void> share_;
  std::vector<float> bias_;
};

}  // namespace gantry::x86
