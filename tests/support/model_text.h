// SPDX-License-Identifier: Apache-2.0
// Models for tests, written in the onnx library's text syntax.
#pragma once

#include <cstddef>
#include <memory>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>
#include <span>
#include <stdexcept>
#include <string>

#include "onnx/model.h"

namespace gantry::test {

/// The model, with opset 18 unless the text starts with a "<...>" head of its own.
inline ONNX_NAMESPACE::ModelProto parse_model(const std::string& text) {
  const std::string head = text.find('<') == text.find_first_not_of(" \n")
                               ? ""
                               : "<ir_version: 8, opset_import: [\"\" : 18]>\n";
  const std::string whole = head + text;
  ONNX_NAMESPACE::ModelProto model;
  ONNX_NAMESPACE::OnnxParser parser(whole.c_str());
  const auto status = parser.Parse(model);
  if (!status.IsOK()) throw std::invalid_argument(status.ErrorMessage());
  return model;
}

inline std::string model_bytes(const std::string& text) {
  return parse_model(text).SerializeAsString();
}

inline std::span<const std::byte> as_bytes(const std::string& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

/// A loaded model with the bytes that it refers to.
class TestModel {
 public:
  explicit TestModel(const std::string& bytes, const std::string& folder = "")
      : bytes_(bytes), model_(ModelSource(as_bytes(bytes_), folder)) {}
  OnnxModel* operator->() { return &model_; }

 private:
  const std::string bytes_;
  OnnxModel model_;
};

/// The graph of a model in text form. Its constants may not outlive the call unless they are small.
inline std::unique_ptr<Graph> graph_of(const std::string& text) {
  return TestModel(model_bytes(text))->to_graph();
}

/// Value of that name; fails the test by an exception if there is none.
inline GraphValue* value_named(const Graph& graph, const std::string& name) {
  for (const auto& value : graph.values()) {
    if (value->name == name) return value.get();
  }
  throw std::out_of_range("no value " + name);
}

}  // namespace gantry::test
