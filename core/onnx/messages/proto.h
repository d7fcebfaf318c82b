// SPDX-License-Identifier: Apache-2.0
// The onnx library's messages under a short name, and iteration over them. The library is built in
// a namespace of gantry, so that it does not clash with another copy in the process (a Python
// wheel's).
#pragma once

#include <onnx/onnx_pb.h>

namespace gantry::onnx {

using namespace ONNX_NAMESPACE;  // NOLINT(google-build-using-namespace): the alias is this header's
                                 // purpose

/// Calls visit(GraphProto&) for the graph and every body below it, outer graphs first.
template <class Visit>
void for_each_graph(GraphProto& graph, const Visit& visit);

/// The same for the bodies of a node.
template <class Visit>
void for_each_body(NodeProto& node, const Visit& visit) {
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) for_each_graph(*attribute.mutable_g(), visit);
    for (GraphProto& body : *attribute.mutable_graphs()) for_each_graph(body, visit);
  }
}

template <class Visit>
void for_each_graph(GraphProto& graph, const Visit& visit) {
  visit(graph);
  for (NodeProto& node : *graph.mutable_node()) for_each_body(node, visit);
}

/// Calls visit(GraphProto&) for the main graph and every body of the model, those inside functions
/// too.
template <class Visit>
void for_each_graph(ModelProto& model, const Visit& visit) {
  if (model.has_graph()) for_each_graph(*model.mutable_graph(), visit);
  for (FunctionProto& function : *model.mutable_functions()) {
    for (NodeProto& node : *function.mutable_node()) for_each_body(node, visit);
  }
}

/// Calls visit(NodeProto&) for every node of the model: graphs, bodies, functions.
template <class Visit>
void for_each_node(ModelProto& model, const Visit& visit) {
  for_each_graph(model, [&](GraphProto& graph) {
    for (NodeProto& node : *graph.mutable_node()) visit(node);
  });
  for (FunctionProto& function : *model.mutable_functions()) {
    for (NodeProto& node : *function.mutable_node()) visit(node);
  }
}

/// Calls visit(TensorProto&) for every dense tensor of the model: initializers and attributes.
template <class Visit>
void for_each_tensor(ModelProto& model, const Visit& visit) {
  for_each_graph(model, [&](GraphProto& graph) {
    for (TensorProto& tensor : *graph.mutable_initializer()) visit(tensor);
  });
  for_each_node(model, [&](NodeProto& node) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) visit(*attribute.mutable_t());
      for (TensorProto& tensor : *attribute.mutable_tensors()) visit(tensor);
    }
  });
}

}  // namespace gantry::onnx
