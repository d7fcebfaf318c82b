// SPDX-License-Identifier: Apache-2.0
#include "fuse/matmul_group.h"

#include <gantry/sdk/rows.h>

#include <algorithm>
#include <optional>

#include "fuse/nbits_matmul.h"

namespace gantry::cuda {
namespace {

constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);

// A MatMul whose matrix, and bias if it has one, are constants, and which has no other epilogue.
std::optional<MatmulFusion> matmul_member(const sdk::FusionScope& scope, uint32_t root) {
  const sdk::GraphIndex& index = scope.index();
  if (!sdk::is_operator(index, root, "MatMul", 2)) return std::nullopt;
  const sdk::ValueView a = index.node(root).input(0);
  const sdk::ValueView b = index.node(root).input(1);
  if (a.rank() < 2 || a.is_constant() || b.rank() != 2 || !b.is_constant() ||
      b.dtype() != a.dtype() || (sdk::dtype_bit(a.dtype()) & kTypes) == 0)
    return std::nullopt;
  const std::unique_ptr<MatmulFusion> fusion = match_matmul(scope, root);
  if (!fusion || fusion->nodes.size() > 2) return std::nullopt;
  if (fusion->nodes.size() == 1) return *fusion;
  return fusion->epilogue.has_bias && index.value(fusion->bias).is_constant()
             ? std::optional(*fusion)
             : std::nullopt;
}

std::optional<MatmulFusion> nbits_member(const sdk::FusionScope& scope, uint32_t root) {
  if (!is_constant_nbits_matmul(scope.index().node(root))) return std::nullopt;
  MatmulFusion fusion;
  fusion.root = root;
  fusion.nodes = {root};
  return fusion;
}

template <class Member>
std::unique_ptr<MatmulGroupFusion> match_group(const sdk::FusionScope& scope, uint32_t root,
                                               const Member& member_at) {
  const std::optional<MatmulFusion> first = member_at(scope, root);
  if (!first) return nullptr;
  auto group = std::make_unique<MatmulGroupFusion>();
  group->root = root;
  group->members = {*first};
  const uint32_t left = scope.index().raw(root).inputs[0];
  for (const uint32_t reader : scope.index().readers(left)) {
    if (group->members.size() == kMostGrouped) break;
    if (reader <= group->members.back().root || !scope.may_fuse(reader) ||
        scope.index().raw(reader).inputs[0] != left)
      continue;
    if (const auto member = member_at(scope, reader)) group->members.push_back(*member);
  }
  if (group->members.size() == 1) return nullptr;
  for (const MatmulFusion& member : group->members)
    group->nodes.insert(group->nodes.end(), member.nodes.begin(), member.nodes.end());
  std::sort(group->nodes.begin(), group->nodes.end());
  return group;
}

}  // namespace

std::unique_ptr<MatmulGroupFusion> match_matmul_group(const sdk::FusionScope& scope,
                                                      uint32_t root) {
  return match_group(scope, root, matmul_member);
}

std::unique_ptr<MatmulGroupFusion> match_nbits_matmul_group(const sdk::FusionScope& scope,
                                                            uint32_t root) {
  return match_group(scope, root, nbits_member);
}

}  // namespace gantry::cuda
