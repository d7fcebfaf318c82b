// SPDX-License-Identifier: Apache-2.0
// A part of a graph of ONNX Runtime's, compiled as a session of gantry.
#pragma once

#include <gantry/sdk/mutex.h>
#include <gantry/session.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "objects/execution_provider.h"
#include "plugin_ep/graph_model.h"
#include "plugin_ep/options.h"

namespace gantry::ort {

class CompiledGraph : public ComputeInfo {
 public:
  /// `fused`: the node that stands for the graph; runs get its inputs and outputs, in its order.
  /// Errors: those of a session.
  /// `trusted`: as GraphModel has it.
  CompiledGraph(const HostApi& api, const host::Graph* graph, const host::Node* fused,
                const std::set<std::string>& trusted, const std::shared_ptr<Runtime>& runtime,
                const EpOptions& options);

  /// Runs the graph once. Several threads may call this at once.
  void run(host::KernelContext* context);

 private:
  /// An input or output, and its place among those of the fused node.
  struct Port {
    std::string name;
    size_t index;
    std::vector<int64_t> shape;  ///< of an output that is written in place
  };

  std::unique_ptr<Binding> take();
  void put_back(std::unique_ptr<Binding> binding);
  /// ONNX Runtime's memory for the outputs that a run may write in place; nothing: some of it
  /// cannot be used as it is.
  [[nodiscard]] std::optional<std::vector<Tensor>> targets(host::KernelContext* context) const;
  /// Copies a result to ONNX Runtime's memory.
  void give(host::KernelContext* context, size_t index, const Tensor& tensor) const;
  /// After the first run: which outputs are of the shape that was foreseen.
  void learn(const Binding& binding);

  const HostApi& api_;
  std::shared_ptr<Runtime> runtime_;
  std::string bytes_;  // of the model, which the session borrows
  std::unique_ptr<Session> session_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::once_flag first_run_;
  std::atomic<bool> has_run_ = false;  // in_place_ is complete
  std::vector<Port> in_place_;         // of `outputs_`
  sdk::Mutex mutex_;
  std::vector<std::unique_ptr<Binding>> idle_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry::ort
