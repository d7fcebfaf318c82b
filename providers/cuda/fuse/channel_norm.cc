// SPDX-License-Identifier: Apache-2.0
#include "fuse/channel_norm.h"

namespace gantry::cuda {

std::unique_ptr<Fusion> match_channel_norm(const sdk::FusionScope& scope, uint32_t root) {
  const sdk::GraphIndex& index = scope.index();
  if (!sdk::is_operator(index, root, "GroupNormalization", 3) &&
      !sdk::is_operator(index, root, "InstanceNormalization", 3))
    return nullptr;
  auto fusion = std::make_unique<Fusion>();
  fusion->root = root;
  fusion->nodes = {root};
  fusion->channels_last = channels_last_of(index.node(root).input(0));
  fusion->channels_last_inputs = {index.raw(root).inputs[0]};
  return fusion;
}

}  // namespace gantry::cuda
