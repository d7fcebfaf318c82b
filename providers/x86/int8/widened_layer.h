// SPDX-License-Identifier: Apache-2.0
// An int8 convolution or matmul layer with exact sums on CPUs without VNNI, or by AVX-VNNI
// (widened.h): its packed weights, scales, bias and epilogue. Immutable once packed.
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

/// True if oneDNN's sums of `inner` int8 products are exact: the CPU has VNNI, ONEDNN_MAX_CPU_ISA
/// allows it, and the zero-point compensation fits 32 bits. [any]
bool is_library_exact(int64_t inner);

/// Why neither oneDNN nor this provider's own code computes a fusion with sums of `inner` int8
/// products exactly, as a sentence without a final stop; empty: one of them does.
std::string inexactness_of(const Fusion& fusion, int64_t inner);

/// Why a WidenedLayer does not compute the fusion by AVX-VNNI, which is so where the CPU has no
/// such instructions, or AVX-512 too; empty: it does.
std::string avx_vnni_refusal(const Fusion& fusion, int64_t inner);

class WidenedLayer {
 public:
  /// Weights as the model has them; steps are strides in elements.
  struct Plain {
    const void* numbers = nullptr;
    int64_t groups = 1;
    int64_t results = 0;   ///< of a group
    int64_t channels = 0;  ///< of a group
    int64_t taps = 1;
    int64_t result_step = 0;
    int64_t channel_step = 0;
    int64_t tap_step = 0;
    /// 0 or 128: added to each byte, modulo 256, it gives s8 with zero point 0
    uint8_t offset = 0;

    /// A matrix, [inner, columns], or [columns, inner] if `is_transposed`.
    static Plain matrix(const void* numbers, int64_t inner, int64_t columns, bool is_transposed,
                        uint8_t offset) {
      return {
          numbers, 1,     columns, inner, 1, is_transposed ? inner : 1, is_transposed ? 1 : columns,
          0,       offset};
    }
  };

  /// Packs the weights; does not keep `plain`. `scales`, `bias`: [groups * results], in units of
  /// result_scale() (onednn/post_ops.h). `scales` is empty if they come with each run, or if
  /// the target is kS32, the sums themselves. Requires that int8_epilogue_of(fusion) has a value.
  /// Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, const Plain& plain,
            const Fusion& fusion, Int8Type target_type, const std::vector<float>& scales,
            const std::vector<float>& bias);

  /// Operands of a run.
  struct Tensors {
    const void* source = nullptr;
    const void* addend = nullptr;  ///< null: none
    void* target = nullptr;
    bool is_signed = false;         ///< the source is s8, else u8
    int32_t source_zero = 0;        ///< zero point of the source
    const float* scales = nullptr;  ///< [padded()], if they come with the run; else null
  };
  /// Runs a convolution. `window`: window, strides, dilations, pads, source and target extents; its
  /// other members are ignored. `images`: batch size.
  void run(sdk::Call& call, const WidenedConvolution& window, int64_t images,
           const Tensors& tensors) const;
  /// Runs a matmul.
  void run(sdk::Call& call, int64_t rows, const Tensors& tensors) const;

  /// Number of scales, padded to whole panels.
  [[nodiscard]] int64_t padded() const;

 private:
  /// Sets `layout_`; returns a text that differs if packed weights do.
  std::string choose_layout(sdk::Choices& choices, const Plain& plain);
  /// One element for each result, padded as padded() says.
  [[nodiscard]] std::vector<float> spread(const std::vector<float>& numbers) const;

  WidenedConvolution form_;                 // but for the window
  std::optional<BytePanelsLayout> layout_;  // none: the weights are packed in pairs for int16
  std::shared_ptr<const void> weights_;
  std::vector<float> scales_;
  std::vector<float> bias_;
  std::vector<Int8EpilogueStep> steps_;
};

}  // namespace gantry::x86
