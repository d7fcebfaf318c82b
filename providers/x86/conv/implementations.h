// SPDX-License-Identifier: Apache-2.0
// The implementations of Conv that are this provider's own code; conv.cc lists them in the order in
// which they are asked. Pure but for the packing of weights.
#pragma once

#include "fuse/implementation.h"

namespace gantry::x86 {

/// f32, few channels, tensors NCHW on both sides.
Made make_nchw_conv(const KernelArgs& args);
/// f32, 3 x 3 without strides, dilations and groups, by Winograd's minimal filtering.
Made make_winograd_conv(const KernelArgs& args);
/// f32, grouped, depthwise, or of few input channels.
Made make_direct_conv(const KernelArgs& args);
/// f32, 1x1: a product of the pixels.
Made make_conv_1x1(const KernelArgs& args);
/// f32, one group, images of open size.
Made make_implicit_gemm_conv(const KernelArgs& args);
/// int8 on CPUs without VNNI, where the library's sums would saturate: widened to int16.
Made make_int8_widened_conv(const KernelArgs& args);
/// int8, one group, with AMX.
Made make_int8_amx_conv(const KernelArgs& args);
/// int8, few pixels and many weights, with AVX-512 and VNNI.
Made make_int8_vnni_conv(const KernelArgs& args);

}  // namespace gantry::x86
