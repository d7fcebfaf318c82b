// SPDX-License-Identifier: Apache-2.0
// The implementations of Conv and ConvTranspose in this provider's own code. conv.cc and
// conv_transpose.cc list them in order of preference. Each makes a kernel with packed weights, or
// says why it refuses (fuse/implementation.h).
#pragma once

#include "fuse/implementation.h"

namespace gantry::x86 {

/// f32, one group, few channels, 1-D or 2-D, if source, addend and target are NCHW.
Made make_nchw_conv(const KernelArgs& args);
/// f32, 3 x 3 without strides, dilations and groups, by Winograd's minimal filtering.
Made make_winograd_conv(const KernelArgs& args);
/// f32: 2-D grouped 1x1, depthwise (also 1-D), or at most 4 input channels in one group.
Made make_direct_conv(const KernelArgs& args);
/// f32, 1x1 (ConvShape::is_pointwise): a matmul of the pixels.
Made make_conv_1x1(const KernelArgs& args);
/// f32, one group, 1-D or 2-D with a dynamic spatial extent.
Made make_implicit_gemm_conv(const KernelArgs& args);
/// int8, where oneDNN's sums would not be exact (CPUs without VNNI): widened to int16.
Made make_int8_widened_conv(const KernelArgs& args);
/// int8, one group, likewise, with sums that do not saturate. Needs AVX-VNNI, and no AVX-512.
Made make_int8_avx_vnni_conv(const KernelArgs& args);
/// int8, one group, 1-D or 2-D. Needs AMX.
Made make_int8_amx_conv(const KernelArgs& args);
/// int8, 2-D, one group, few pixels and many weights. Needs AVX-512 with VNNI.
Made make_int8_vnni_conv(const KernelArgs& args);

/// ConvTranspose in f32 over one or two spatial axes, without dilations.
Made make_implicit_gemm_conv_transpose(const KernelArgs& args);

}  // namespace gantry::x86
