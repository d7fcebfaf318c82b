// SPDX-License-Identifier: Apache-2.0
// gantry as the execution provider of one session of ONNX Runtime's.
#pragma once

#include <gantry/runtime.h>

#include <memory>
#include <set>
#include <string>

#include "objects/execution_provider.h"
#include "plugin_ep/host_api.h"
#include "plugin_ep/options.h"

namespace gantry::ort {

/// Used by one thread at a time; what it compiles may run on several.
class GantryEp : public Ep {
 public:
  GantryEp(const HostApi& api, std::shared_ptr<Runtime> runtime, EpOptions options,
           const host::Logger* logger);

 private:
  static GantryEp& of(Ep* self) { return *static_cast<GantryEp*>(self); }
  static const char* name(const Ep*) noexcept { return kEpName; }
  static host::Status* get_capability(Ep* self, const host::Graph* graph,
                                      host::GraphSupport* support) noexcept;
  static host::Status* compile(Ep* self, const host::Graph** graphs, const host::Node** fused,
                               size_t count, ComputeInfo** made, host::Node** contexts) noexcept;
  static void release_compute_infos(Ep* self, ComputeInfo** infos, size_t count) noexcept;

  void claim(const host::Graph* graph, host::GraphSupport* support);

  const HostApi& api_;
  std::shared_ptr<Runtime> runtime_;
  EpOptions options_;
  const host::Logger* logger_;
  std::set<std::string> graph_inputs_;  // of the main graph, once it was asked about
};

/// OrtLoggingLevel.
enum class HostLevel : int { kVerbose = 0, kInfo = 1, kWarning = 2, kError = 3 };

/// Writes a line to a log of ONNX Runtime's.
void write_log(const HostApi& api, const host::Logger* logger, HostLevel level,
               const std::string& line) noexcept;

}  // namespace gantry::ort
