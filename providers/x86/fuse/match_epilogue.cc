// SPDX-License-Identifier: Apache-2.0
#include "fuse/match_epilogue.h"

#include "fuse/bf16.h"

namespace gantry::x86 {

std::unique_ptr<Fusion> match_epilogue(const MatchScope& scope, uint32_t root,
                                       const RootTraits& traits) {
  auto fusion = std::make_unique<Fusion>(fusion_of(scope.index(), root, traits, scope.predicate()));
  fusion->rounds_to_bf16 = is_worth_bf16(scope.index(), *fusion, scope.options());
  return fusion;
}

}  // namespace gantry::x86
