// SPDX-License-Identifier: Apache-2.0
// A graph that an operator has as an attribute, copied to where its nodes stand among others.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

struct SubgraphCopy {
  /// Its values begin with a prefix and "/", its outputs are prefix + "_output_" and the index.
  /// Symbols of extents are left out: they may be those of other extents around it. Nodes of
  /// ai.onnx have the domain "ai.onnx", which says that they are of the model's own opset.
  onnx::GraphProto graph;
  /// What it reads and does not have.
  std::set<std::string> outer;

  /// `inputs`: the names that its inputs get.
  SubgraphCopy(const onnx::GraphProto& original, const std::string& prefix,
               const std::vector<std::string>& inputs);

  [[nodiscard]] std::string output(int index) const { return graph.output(index).name(); }
};

}  // namespace gantry
