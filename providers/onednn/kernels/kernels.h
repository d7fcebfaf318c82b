// SPDX-License-Identifier: Apache-2.0
// The kernels, each with the question whether it takes a node. The answers are pure and read the
// graph alone. A refusal is one sentence without a final stop; empty: taken.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bytes/function.h"
#include "unit.h"

namespace gantry::onednn {

/// What a kernel is made from.
struct KernelArgs {
  const GraphIndex& index;
  const gantry_compile& compile;
  Unit unit;
  /// What was decided when this claim was compiled before, and what is decided now: what takes long
  /// to find out (a layout, a digest, which of two ways is faster) is asked for here first.
  sdk::Choices& choices;

  /// True if the slot was granted the channels-last order.
  [[nodiscard]] bool is_input_formatted(size_t slot) const {
    return compile.input_formats && compile.input_formats[slot];
  }
  [[nodiscard]] bool is_output_formatted(size_t slot) const {
    return compile.output_formats && compile.output_formats[slot];
  }
  /// That a run of the session may use.
  [[nodiscard]] int threads() const {
    return compile.threads > 0 ? static_cast<int>(compile.threads) : 1;
  }
  /// The input slot in which a value arrives.
  [[nodiscard]] size_t slot_of(uint32_t value) const;
  /// The output slot of what the unit makes.
  [[nodiscard]] size_t output_slot() const;
};

/// Conv with constant weights, f32 or 8 bits, one to three spatial axes.
std::string conv_refusal(const GraphIndex& index, const Unit& unit);
AnchorTraits conv_traits(const GraphIndex& index, uint32_t node);
std::unique_ptr<sdk::Kernel> make_conv(const KernelArgs& args);
/// A Conv of 3 x 3 by Winograd's minimal filtering; null: the unit is not of that kind, or it would
/// not pay.
std::unique_ptr<sdk::Kernel> make_winograd_conv(const KernelArgs& args);
/// Of the convolutions that conv_refusal takes: one channel for each group, by code of this
/// provider's own, which can exchange channels before it (Unit::shuffle).
bool is_depthwise_here(const GraphIndex& index, const Unit& unit);
/// A convolution of few channels by code of this provider's own; null: it is not one of those.
std::unique_ptr<sdk::Kernel> make_direct_conv(const KernelArgs& args);
/// A convolution of few channels whose tensors stand channel by channel, by code of this provider's
/// own; null: it is not one of those.
std::unique_ptr<sdk::Kernel> make_planar_conv(const KernelArgs& args);
/// A convolution of single pixels as a product by code of this provider's own; null: it is none of
/// those, or the library is as good.
std::unique_ptr<sdk::Kernel> make_pixel_conv(const KernelArgs& args);
/// A convolution in 8 bits of few pixels and many weights by code of this provider's own; null: it
/// is not one of those, or the CPU has no instructions for it.
std::unique_ptr<sdk::Kernel> make_byte_conv(const KernelArgs& args);
/// A convolution in 8 bits of one group by code of this provider's own for AMX; null: it is not one
/// of those, or the CPU has no AMX.
std::unique_ptr<sdk::Kernel> make_tile_conv(const KernelArgs& args);
/// A convolution in 8 bits whose sums are exact where the library's are not; null: they are, or it
/// is in floats.
std::unique_ptr<sdk::Kernel> make_word_conv(const KernelArgs& args);

/// ConvTranspose of f32 with constant weights, one group and not few channels.
std::string deconv_refusal(const GraphIndex& index, const Unit& unit);
AnchorTraits deconv_traits(const GraphIndex& index, uint32_t node);
std::unique_ptr<sdk::Kernel> make_deconv(const KernelArgs& args);

/// MatMul and Gemm of f32 or 8 bits with a constant right-hand matrix.
std::string product_refusal(const GraphIndex& index, const Unit& unit);
AnchorTraits product_traits(const GraphIndex& index, uint32_t node);
std::unique_ptr<sdk::Kernel> make_product(const KernelArgs& args);

/// MatMul and Gemm of two f32 tensors of the run, whose extents are known and not small.
std::string tensor_product_refusal(const GraphIndex& index, const Unit& unit);
AnchorTraits tensor_product_traits(const GraphIndex& index, uint32_t node);
std::unique_ptr<sdk::Kernel> make_tensor_product(const KernelArgs& args);

/// MatMulInteger with a constant right-hand matrix, and its way to floats.
std::string integer_product_refusal(const GraphIndex& index, const Unit& unit);
AnchorTraits integer_product_traits(const GraphIndex& index, uint32_t node);
std::unique_ptr<sdk::Kernel> make_integer_product(const KernelArgs& args);

/// MatMulNBits of com.microsoft with a constant matrix of 4 or 8 bits, of which it says that the
/// other one may be rounded to 8 bits too.
std::string block_product_refusal(const GraphIndex& index, const Unit& unit);
std::unique_ptr<sdk::Kernel> make_block_product(const KernelArgs& args);

/// MaxPool, AveragePool and the global ones of f32 or 8 bits, and means over all spatial axes.
std::string pool_refusal(const GraphIndex& index, const Unit& unit);
AnchorTraits pool_traits(const GraphIndex& index, uint32_t node);
std::unique_ptr<sdk::Kernel> make_pool(const KernelArgs& args);

/// Operators that work element by element, or by channel (BatchNormalization), in whatever order
/// the elements stand; with the activations behind them.
std::string pointwise_refusal(const GraphIndex& index, const Unit& unit);
bool is_pointwise_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
AnchorTraits pointwise_traits(const GraphIndex& index, uint32_t node);
std::unique_ptr<sdk::Kernel> make_pointwise(const KernelArgs& args);
/// A function of one tensor in 8 bits: a table of all results.
std::unique_ptr<sdk::Kernel> make_byte_function(const KernelArgs& args,
                                                const ByteFunction& function);

/// LSTM and GRU with constant weights and their default functions, all sequences of one length; a
/// GRU that resets behind the product.
std::string recurrent_refusal(const GraphIndex& index, const Unit& unit);
bool is_recurrent_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
std::unique_ptr<sdk::Kernel> make_recurrent(const KernelArgs& args);

/// Sets of nodes that work element by element (elementwise/program.h).
bool is_elementwise_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
std::unique_ptr<sdk::Kernel> make_elementwise(const KernelArgs& args,
                                              const std::vector<uint32_t>& nodes);

/// Concat along the channels.
std::string concat_refusal(const GraphIndex& index, const Unit& unit);
AnchorTraits concat_traits(const GraphIndex& index, uint32_t node);
std::unique_ptr<sdk::Kernel> make_concat(const KernelArgs& args);

}  // namespace gantry::onednn
