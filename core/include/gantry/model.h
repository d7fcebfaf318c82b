// SPDX-License-Identifier: Apache-2.0
// What is in a model: its interface, operators, weights. Read without any provider; nothing is
// placed or compiled.
#pragma once

#include <gantry/session.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gantry {

/// How often an operator occurs, bodies of control flow included.
struct OperatorCount {
  std::string domain;  ///< "": ai.onnx
  std::string op_type;
  int since_version = 0;  ///< of its schema
  uint64_t count = 0;
};

/// A constant of the model, or the initial value of an input.
struct WeightInfo {
  std::string name;
  DType dtype = DType::kUndefined;
  std::vector<int64_t> shape;
  uint64_t size_bytes = 0;  ///< 0 for strings
};

/// The descriptive members of a ModelProto.
struct ModelDescription {
  std::string producer_name;  ///< without its version
  std::string domain;
  std::string text;        ///< doc_string of the model
  std::string graph_text;  ///< doc_string of its graph
  int64_t version = 0;     ///< model_version
};

struct ModelSummary {
  std::string name;  ///< of the graph
  ModelDescription description;
  std::string producer;  ///< name and version
  int64_t ir_version = 0;
  std::map<std::string, int> opsets;  ///< domain -> version
  std::map<std::string, std::string> metadata;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<OperatorCount> operators;  ///< most frequent first
  std::vector<WeightInfo> weights;       ///< in the model's order, bodies last
  uint64_t weight_bytes = 0;             ///< of all weights
  std::string graph_text;                ///< the graph as text, a line for each node
};

/// Loads and checks the model. NOT_FOUND, INVALID_MODEL: as Session.
ModelSummary inspect(const ModelSource& model);

}  // namespace gantry
