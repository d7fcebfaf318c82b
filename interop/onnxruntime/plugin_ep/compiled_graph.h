// SPDX-License-Identifier: Apache-2.0
// A part of a graph of ONNX Runtime's, compiled as a session of gantry.
#pragma once

#include <gantry/sdk/mutex.h>
#include <gantry/session.h>

#include <memory>
#include <mutex>
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
  CompiledGraph(const HostApi& api, const host::Graph* graph, const host::Node* fused,
                const std::shared_ptr<Runtime>& runtime, const EpOptions& options);

  /// Runs the graph once. Several threads may call this at once.
  void run(host::KernelContext* context);

 private:
  /// An input or output, and its place among those of the fused node.
  struct Port {
    std::string name;
    size_t index;
    std::vector<int64_t> shape;  ///< of an output, where all of it is known; see is_fixed
    bool is_fixed = false;       ///< a tensor of numbers whose shape is known
  };

  std::unique_ptr<Binding> take();
  /// Lets the next run write to ONNX Runtime's memory; false: it cannot be used as it is.
  bool bind(Binding& binding, host::KernelContext* context, const Port& output) const;
  /// Copies a result to ONNX Runtime's memory.
  void give(host::KernelContext* context, size_t index, const Tensor& tensor) const;

  const HostApi& api_;
  std::shared_ptr<Runtime> runtime_;
  std::string bytes_;  // of the model, which the session borrows
  std::unique_ptr<Session> session_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::once_flag first_run_;
  sdk::Mutex mutex_;
  std::vector<std::unique_ptr<Binding>> idle_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry::ort
