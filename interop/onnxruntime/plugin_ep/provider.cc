// SPDX-License-Identifier: Apache-2.0
#include "plugin_ep/provider.h"

#include <utility>
#include <vector>

#include "plugin_ep/capability.h"
#include "plugin_ep/compiled_graph.h"

namespace gantry::ort {

GantryEp::GantryEp(const HostApi& api, std::shared_ptr<Runtime> runtime, EpOptions options,
                   const host::Logger* logger)
    : Ep{.version = kStructVersion,
         .get_name = name,
         .get_capability = get_capability,
         .compile = compile,
         .release_compute_infos = release_compute_infos},
      api_(api),
      runtime_(std::move(runtime)),
      options_(std::move(options)),
      logger_(logger) {}

host::Status* GantryEp::get_capability(Ep* self, const host::Graph* graph,
                                       host::GraphSupport* support) noexcept {
  return guarded_by(of(self).api_, [&] { of(self).claim(graph, support); });
}

void GantryEp::claim(const host::Graph* graph, host::GraphSupport* support) {
  Capability capability = capability_of(api_, graph, *runtime_, options_);
  for (const Refusal& refusal : capability.refusals) {
    write_log(api_, logger_, HostLevel::kInfo,
              std::string(kEpName) + " does not take " + refusal.node + ": " + refusal.reason);
  }
  if (!capability.graph_inputs.empty()) graph_inputs_ = std::move(capability.graph_inputs);
  const FusionOptions fusion = {kStructVersion, true};
  for (const std::vector<const host::Node*>& part : capability.parts) {
    api_.expect_success(
        api_.providers().add_nodes_to_fuse(support, part.data(), part.size(), &fusion));
  }
}

host::Status* GantryEp::compile(Ep* self, const host::Graph** graphs, const host::Node** fused,
                                size_t count, ComputeInfo** made, host::Node**) noexcept {
  const GantryEp& ep = of(self);
  return guarded_by(ep.api_, [&] {
    std::vector<std::unique_ptr<CompiledGraph>> all;
    for (size_t i = 0; i < count; ++i) {
      try {
        all.push_back(std::make_unique<CompiledGraph>(ep.api_, graphs[i], fused[i],
                                                      ep.graph_inputs_, ep.runtime_, ep.options_));
      } catch (const Error& error) {
        throw error.in(ep.api_.text(Slot::kNodeGetName, fused[i]));
      }
    }
    for (size_t i = 0; i < count; ++i) made[i] = all[i].release();
  });
}

void GantryEp::release_compute_infos(Ep*, ComputeInfo** infos, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) delete static_cast<CompiledGraph*>(infos[i]);
}

void write_log(const HostApi& api, const host::Logger* logger, HostLevel level,
               const std::string& line) noexcept {
  auto* status = api.get<host::Status*>(Slot::kLoggerLogMessage, logger, static_cast<int>(level),
                                        line.c_str(), "", 0, kEpName);
  if (status) api.get<void>(Slot::kReleaseStatus, status);
}

}  // namespace gantry::ort
