// SPDX-License-Identifier: Apache-2.0
// Per-channel initial sums, scales and bias of this provider's own int8 convolutions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "conv/conv_shape.h"
#include "fuse/kernels.h"

namespace gantry::x86 {

/// One element for each channel, aligned to cache lines and padded with zeros to whole lines, so
/// that whole vectors can be read.
template <class T>
class ChannelNumbers {
 public:
  ChannelNumbers() = default;
  explicit ChannelNumbers(const std::vector<T>& numbers)
      : lines_((numbers.size() + kOfLine - 1) / kOfLine) {
    for (size_t i = 0; i < numbers.size(); ++i)
      lines_[i / kOfLine].numbers[i % kOfLine] = numbers[i];
  }
  [[nodiscard]] const T* data() const {
    return lines_.empty() ? nullptr : lines_[0].numbers.data();
  }

 private:
  static constexpr size_t kOfLine = 64 / sizeof(T);
  struct alignas(64) Line {
    std::array<T, kOfLine> numbers{};
  };
  std::vector<Line> lines_;
};

/// One element for each output channel: result = (start + sum) * scale + bias, in units of
/// result_scale() (onednn/post_ops.h).
struct ChannelScales {
  ChannelNumbers<int32_t> starts;  ///< minus the source's zero point times the sum of the weights
  ChannelNumbers<float> scales;
  ChannelNumbers<float> bias;

  ChannelScales() = default;
  /// Requires a quantized fusion and a convolution of one group.
  ChannelScales(const KernelArgs& args, const ConvShape& shape);
};

}  // namespace gantry::x86
