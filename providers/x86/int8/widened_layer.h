// SPDX-License-Identifier: Apache-2.0
// A layer of int8 products for CPUs without VNNI: its packed weights, and what becomes of its
// sums. Immutable once packed.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuse/fusion.h"
#include "int8/byte_panels.h"
#include "int8/widened.h"

namespace gantry::x86 {

/// True if the library's sums of `inner` int8 products are exact: the CPU can add four at once
/// (VNNI), ONEDNN_MAX_CPU_ISA does not forbid it, and what zero points take away from the sums does
/// not leave 32 bits. [any]
bool is_library_exact(int64_t inner);

/// Why neither the library's nor this provider's own int8 products take a fusion whose results
/// are sums of `inner` products; empty: one of them does.
std::string inexactness_of(const Fusion& fusion, int64_t inner);

class WidenedLayer {
 public:
  /// Weights as the model has them, in steps of elements.
  struct Plain {
    const void* numbers = nullptr;
    int64_t groups = 1;
    int64_t results = 0;   ///< of a group
    int64_t channels = 0;  ///< of a group
    int64_t taps = 1;
    int64_t result_step = 0;
    int64_t channel_step = 0;
    int64_t tap_step = 0;
    uint8_t offset = 0;  ///< added to each byte, modulo 256, so that it is a signed number

    /// A matrix: [inner, columns], or `is_transposed` the other way round.
    static Plain matrix(const void* numbers, int64_t inner, int64_t columns, bool is_transposed,
                        uint8_t offset) {
      return {
          numbers, 1,     columns, inner, 1, is_transposed ? inner : 1, is_transposed ? 1 : columns,
          0,       offset};
    }
  };

  /// Packs the weights; `plain` need not outlive the call. `scales`, `bias`: of all results, in the
  /// fusion's measure; scales may come with the run instead, and results be the sums themselves:
  /// then they are empty. Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, const Plain& plain,
            const Fusion& fusion, Int8Type target_type, const std::vector<float>& scales,
            const std::vector<float>& bias);

  /// Of a run.
  struct Tensors {
    const void* source = nullptr;
    const void* addend = nullptr;  ///< null: there is none
    void* target = nullptr;
    bool is_signed = false;  ///< the source is
    int32_t source_zero = 0;
    const float* scales = nullptr;  ///< [padded()], if they come with the run
  };
  /// `window`: axes, strides and so on; the rest is set here. `images`: of the source.
  void run(sdk::Call& call, const WidenedConvolution& window, int64_t images,
           const Tensors& tensors) const;
  /// Of a product of matrices.
  void run(sdk::Call& call, int64_t rows, const Tensors& tensors) const;

  /// Scales of all results, as they stand beside the weights.
  [[nodiscard]] int64_t padded() const;

 private:
  /// Numbers of all results, in order, at their places.
  [[nodiscard]] std::vector<float> spread(const std::vector<float>& numbers) const;

  WidenedConvolution form_;                 // but for the window
  std::optional<BytePanelsLayout> layout_;  // nothing: the weights are pairs
  std::shared_ptr<const void> weights_;
  std::vector<float> scales_;
  std::vector<float> bias_;
  std::vector<Int8EpilogueStep> steps_;
};

}  // namespace gantry::x86
