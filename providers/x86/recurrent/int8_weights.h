// SPDX-License-Identifier: Apache-2.0
// Packs a weight matrix of an int8 LSTM for recurrent/int8_code.h. Equal packed weights share
// memory within the process. Immutable once packed.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "int8/byte_panels.h"
#include "recurrent/int8_code.h"

namespace gantry::x86 {

class Int8LayerWeights {
 public:
  /// The matrix as the model has it.
  struct Plain {
    const void* numbers = nullptr;  ///< int8 or uint8, [directions, inner, gates * hidden]
    int64_t directions = 1;
    int64_t inner = 0;
    int64_t hidden = 0;
    bool is_signed = true;
    std::vector<float> scales;         ///< [directions, 1 or gates * hidden]
    std::vector<int32_t> zero_points;  ///< [directions]
  };
  /// Packs on all cores; does not keep `plain`. The digest is cached in `choices` under `name`.
  /// Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, const std::string& name,
            const Plain& plain);

  /// The weights of a direction, borrowed.
  [[nodiscard]] Int8Gates of_direction(int64_t direction) const;
  /// Quads of four elements in a row that these weights multiply, padding included.
  [[nodiscard]] int64_t quads() const { return quads_; }

 private:
  void set_scales(const Plain& plain);

  int64_t quads_ = 0;
  int64_t quads_of_step_ = 1;
  int64_t blocks_ = 0;
  std::optional<BytePanelsLayout> layout_;  // without VNNI
  std::shared_ptr<const void> share_;
  int64_t sums_ = 0;                  // offset of the sums of the weights, with VNNI
  std::vector<float> scales_;         // [directions, blocks, gates, kUnitBlock]
  std::vector<int32_t> zero_points_;  // [directions], of signed numbers
};

}  // namespace gantry::x86
