// SPDX-License-Identifier: Apache-2.0
// A graph of ONNX Runtime's as a model of gantry's. One thread.
#pragma once

#include <gantry/tensor.h>

#include <map>
#include <onnx/onnx_pb.h>
#include <set>
#include <string>
#include <vector>

#include "plugin_ep/host_api.h"
#include "plugin_ep/node_values.h"

namespace gantry::ort {

namespace onnx = ONNX_NAMESPACE;

/// Builds a model of some of a graph's nodes. What they read and none of them makes are its inputs,
/// or its initializers where ONNX Runtime says that they are constant.
class GraphModel {
 public:
  /// `trusted`: inputs whose declared shapes hold. Of others, which nodes of ONNX Runtime make,
  /// only the rank is taken over: what a model says of its inner values may be wrong.
  GraphModel(const HostApi& api, const host::Graph* graph, const std::set<std::string>& trusted);

  /// Adds a node under a name of its own, and returns that. ApiError: it cannot be expressed.
  std::string add(const host::Node* node);
  /// Completes the model. The elements of initializers are not in it but in initializers().
  void finish(const std::vector<std::string>& outputs);

  [[nodiscard]] const onnx::ModelProto& model() const { return model_; }
  /// Over ONNX Runtime's memory, which it may free when the call that gave the graph returns.
  [[nodiscard]] const std::map<std::string, Value>& initializers() const { return initializers_; }

 private:
  [[nodiscard]] onnx::NodeProto message_of_node(const host::Node* node) const;
  [[nodiscard]] onnx::GraphProto body_of(const host::Graph* graph) const;
  std::string new_name(const std::string& wanted);
  void note(const ValueInfos& read);
  void add_source(const std::string& name, const host::NamedValue* info);

  const HostApi& api_;
  const std::set<std::string>& trusted_;
  onnx::ModelProto model_;
  std::map<std::string, Value> initializers_;
  std::set<std::string> node_names_;
  std::set<std::string> made_;                                         // by the nodes
  std::vector<std::pair<std::string, const host::NamedValue*>> read_;  // in the order of reading
  std::map<std::string, const host::NamedValue*> known_;               // of `read_` and `made_`
};

}  // namespace gantry::ort
