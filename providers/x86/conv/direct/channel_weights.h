// SPDX-License-Identifier: Apache-2.0
// Weights and biases of the convolutions in groups, in the blocks that their code reads.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace gantry::x86 {

class ChannelWeights {
 public:
  /// As the model has them: [groups, columns, inner] (a depthwise convolution has one group of
  /// `columns` channels, its windows' places being `inner`).
  struct Plain {
    int64_t groups = 0;
    int64_t columns = 0;
    int64_t inner = 0;
    const void* numbers = nullptr;  ///< f32, at any byte
    /// [groups, columns]; empty: 1
    std::vector<float> scales;
  };
  /// Packs them, scaled, into [groups, blocks, inner, kChannelBlock] or, `channels_innermost`, into
  /// [groups, inner, blocks, kChannelBlock]; `plain` need not outlive the call. Equal weights are
  /// held once in the process. Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, const Plain& plain, bool channels_innermost);
  /// `bias`: [groups, columns].
  void set_bias(const std::vector<float>& bias, int64_t groups, int64_t columns);

  [[nodiscard]] const float* numbers() const { return static_cast<const float*>(share_.get()); }
  [[nodiscard]] const float* bias() const { return bias_.data(); }

 private:
  std::shared_ptr<const void> share_;
  std::vector<float> bias_;
};

}  // namespace gantry::x86
