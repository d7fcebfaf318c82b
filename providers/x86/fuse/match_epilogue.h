// SPDX-License-Identifier: Apache-2.0
// The match of most families of kernels: a root node with its epilogue. Pure.
#pragma once

#include <cstdint>
#include <memory>

#include "fuse/fusion.h"
#include "fuse/match_scope.h"

namespace gantry::x86 {

/// The fusion at `root` that `traits` allow, in bf16 where is_worth_bf16() says so. Never null.
std::unique_ptr<Fusion> match_epilogue(const MatchScope& scope, uint32_t root,
                                       const RootTraits& traits);

}  // namespace gantry::x86
