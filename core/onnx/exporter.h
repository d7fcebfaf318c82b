// SPDX-License-Identifier: Apache-2.0
// Exports a set of nodes as an ONNX model of its own, for a provider that compiles many nodes at
// once. Large constants are not copied but referred to by index. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/value.h"
#include "graph/graph.h"

namespace gantry {

class OnnxModel;

/// A set of nodes of one graph, in graph order, and its slots by the rule of provider.h, section 3;
/// null: an empty slot. Borrowed.
struct Fragment {
  std::vector<const Node*> nodes;
  std::vector<const GraphValue*> inputs;
  std::vector<const GraphValue*> outputs;
};

struct ExportedModel {
  std::string bytes;  ///< a serialized ModelProto
  /// Tensors of more than kMostInlineBytes, dense, in host memory: the external data at location
  /// "gantry:N" are the bytes of weights[N].
  std::vector<ValueRef> weights;
};

inline constexpr uint64_t kMostInlineBytes = 1024;

/// Exports a fragment. The model's inputs are the values of the input slots that are no constants,
/// each once; its outputs are those of the output slots; all keep their names. Constants are
/// initializers. Values have their known types, bodies read outer values by name, and functions
/// that nodes call are copied from `model` (null: no functions). Of each domain the model imports
/// an opset under which every node has its schema. If the default domain has no such opset, nodes
/// are converted to the newest that one of them needs. UNSUPPORTED: there is no such opset of
/// another domain, or for a function's nodes; a node cannot be converted; the type of an input
/// cannot be written (a map, or unknown); 2 GiB or more without the weights.
ExportedModel export_fragment(const Fragment& fragment, const OnnxModel* model);

}  // namespace gantry
