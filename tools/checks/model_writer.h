// SPDX-License-Identifier: Apache-2.0
// Serializes ONNX models of one or a few nodes without the ONNX library, as far as random cases and
// chains need it. Pure functions.
#pragma once

#include <gantry/tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace gantry::checks {

using AttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>>;

struct ModelAttribute {
  std::string name;
  AttributeValue value;
};

struct ModelInput {
  std::string name;  ///< empty: absent
  DType dtype = DType::kFloat;
  std::vector<int64_t> shape;
  Tensor constant;  ///< an initializer if it has elements, else a graph input
};

struct OneNodeModel {
  std::string op_type;
  std::string domain;
  int64_t opset = 21;
  std::vector<ModelInput> inputs;
  std::vector<DType> outputs;             ///< of any shape
  std::vector<std::string> output_names;  ///< empty: y0, y1 ...
  std::vector<ModelAttribute> attributes;
};

struct ModelNode {
  std::string op_type;
  std::vector<std::string> inputs;  ///< names; empty: absent
  std::vector<std::string> outputs;
  std::vector<ModelAttribute> attributes;
};

/// A model of several nodes of one domain.
struct NodesModel {
  std::string domain;
  int64_t opset = 21;
  std::vector<ModelNode> nodes;
  std::vector<ModelInput> inputs;  ///< each name once
  struct Output {
    std::string name;
    DType dtype = DType::kFloat;  ///< of any shape
  };
  std::vector<Output> outputs;
};

/// Serializes a ModelProto.
std::vector<std::byte> serialize(const OneNodeModel& model);
std::vector<std::byte> serialize(const NodesModel& model);

}  // namespace gantry::checks
