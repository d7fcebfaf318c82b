// SPDX-License-Identifier: Apache-2.0
// The match of most families of kernels: a root node with its epilogue. Pure.
#pragma once

#include <cstdint>
#include <memory>

#include "fuse/fusion.h"
#include "fuse/match_scope.h"

namespace gantry::x86 {

/// What fits one pass of the root's kernel, as `traits` say, in bf16 where the options ask for it
/// and it pays.
std::unique_ptr<Fusion> match_epilogue(const MatchScope& scope, uint32_t root,
                                       const RootTraits& traits);

}  // namespace gantry::x86
