// SPDX-License-Identifier: Apache-2.0
// What a convolution of int8 by this provider's own code does with the sums of each channel of
// its result.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "conv/conv_shape.h"
#include "fuse/kernels.h"

namespace gantry::x86 {

/// Numbers of some channels, in lines of the cache, the last one filled up with zeros, as vectors
/// are read whole.
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

/// Of each channel.
struct ChannelScales {
  ChannelNumbers<int32_t> starts;  ///< of the sums: what the source's zero point takes away
  ChannelNumbers<float> scales;    ///< of the sums, to the fusion's measure
  ChannelNumbers<float> bias;      ///< in the fusion's measure

  ChannelScales() = default;
  /// Of a quantized fusion. `shape`: of one group.
  ChannelScales(const KernelArgs& args, const ConvShape& shape);
};

}  // namespace gantry::x86
