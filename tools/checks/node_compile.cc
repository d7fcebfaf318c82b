// SPDX-License-Identifier: Apache-2.0
#include "node_compile.h"

#include <algorithm>

#include "host.h"

namespace gantry::checks {

NodeCompile::NodeCompile(uint32_t device, const gantry_graph* graph, uint64_t tag,
                         const Subject& subject)
    : fragment_{graph, 0} {
  const gantry_node& node = *graph->nodes[0];
  dense_.resize(std::max(node.input_count, node.output_count), nullptr);
  args.size = sizeof(args);
  args.device = device;
  args.graph = graph;
  args.nodes = &node_;
  args.node_count = 1;
  args.inputs = node.inputs;
  args.input_count = node.input_count;
  args.outputs = node.outputs;
  args.output_count = node.output_count;
  args.input_formats = dense_.data();
  args.output_formats = dense_.data();
  args.tag = tag;
  args.options = to_str(subject.options);
  args.fragment = to_boundary(fragment_);
}

}  // namespace gantry::checks
