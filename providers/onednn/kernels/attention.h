// SPDX-License-Identifier: Apache-2.0
// Attention of f32 in one kernel, see attention/pattern.h.
#pragma once

#include "attention/pattern.h"
#include "kernels/kernels.h"

namespace gantry::onednn {

/// `args.unit` is not read.
std::unique_ptr<sdk::Kernel> make_attention(const KernelArgs& args, const Attention& attention);

}  // namespace gantry::onednn
