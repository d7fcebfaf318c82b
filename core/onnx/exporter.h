// SPDX-License-Identifier: Apache-2.0
// Export, the opposite of import: a set of nodes becomes a model of its own, for a provider that
// compiles many nodes at once. Large constants stay where they are and are referred to by number.
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/value.h"
#include "graph/graph.h"

namespace gantry {

class OnnxModel;

/// A set of nodes of one graph, in graph order, and its slots as provider.h counts them; null: an
/// empty slot. Borrowed.
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

/// The fragment as a model: its inputs are the values of the input slots that are no constants,
/// each once, its outputs those of the output slots, all by their names; constants are
/// initializers. Values keep what is known of their types, bodies read outer values by name, and
/// the functions that nodes call come along from `model` (null: none are known). Imports of each
/// domain the opset under which every node has the schema it means; where the default domain has no
/// such opset, nodes are converted to the newest that one of them needs. UNSUPPORTED: there is no
/// such opset of another domain, or for a function's nodes; a node cannot be converted; the type of
/// an input cannot be written (a map, or unknown); 2 GiB or more without the weights.
ExportedModel export_fragment(const Fragment& fragment, const OnnxModel* model);

}  // namespace gantry
