// SPDX-License-Identifier: Apache-2.0
#include "fuse/pooling.h"

namespace gantry::cuda {
namespace {

std::unique_ptr<Fusion> fusion_of(const sdk::FusionScope& scope, uint32_t root) {
  auto fusion = std::make_unique<Fusion>();
  fusion->root = root;
  fusion->nodes = {root};
  fusion->channels_last = channels_last_of(scope.index().node(root).input(0));
  fusion->channels_last_inputs = {scope.index().raw(root).inputs[0]};
  return fusion;
}

}  // namespace

std::unique_ptr<Fusion> match_window_pool(const sdk::FusionScope& scope, uint32_t root) {
  const sdk::NodeView node = scope.index().node(root);
  const bool is_max =
      sdk::is_operator(scope.index(), root, "MaxPool", 1) && !node.output(1).present();
  const bool is_average =
      sdk::is_operator(scope.index(), root, "AveragePool", 1) && node.since_version() >= 7;
  if (!is_max && !is_average) return nullptr;
  std::unique_ptr<Fusion> fusion = fusion_of(scope, root);
  const sdk::ValueView x = node.input(0);
  // int8 convolutions are channels-last without cuDNN.
  if (is_max && x.rank() == 4 && (x.dtype() == GANTRY_INT8 || x.dtype() == GANTRY_UINT8))
    fusion->channels_last = ChannelsLast::kAlways;
  return fusion;
}

std::unique_ptr<Fusion> match_global_pool(const sdk::FusionScope& scope, uint32_t root) {
  if (!sdk::is_operator(scope.index(), root, "GlobalAveragePool", 1) &&
      !sdk::is_operator(scope.index(), root, "GlobalMaxPool", 1))
    return nullptr;
  std::unique_ptr<Fusion> fusion = fusion_of(scope, root);
  fusion->makes_channels_last = false;
  return fusion;
}

}  // namespace gantry::cuda
