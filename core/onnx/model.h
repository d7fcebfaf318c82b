// SPDX-License-Identifier: Apache-2.0
// ONNX import: a mapped model file becomes a Graph. Large constants are views onto the map (or onto
// mapped external data) and never copied; the onnx library's checker, shape inference and function
// inliner see the same model with their bytes left out. One thread at a time.
#pragma once

#include <gantry/model.h>
#include <gantry/session.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "graph/graph.h"
#include "onnx/messages/function_call.h"

namespace gantry {

struct ModelParts;

/// Which inputs with a default (initializers that the main graph lists as inputs too, from IR
/// version 4 on) nodes read as inputs. The others are still inputs, which nothing reads: nodes read
/// the default as a constant.
struct OpenDefaults {
  bool all = true;
  std::set<std::string> names;  ///< if not all
};

/// A checked ONNX model. An initializer that the main graph lists as an input too is that input's
/// initial value, from IR version 4 on; before, and everywhere else, it is a constant. Keeps the
/// file mapped as long as the model or a constant made from it lives.
class OnnxModel {
 public:
  /// Maps, scans, checks. NOT_FOUND: no such file (model or external data). INVALID_MODEL: not a
  /// model, truncated, cyclic, breaks a rule of the onnx checker or of type inference, external
  /// data outside the model's folder or too short.
  explicit OnnxModel(const ModelSource& source, const OpenDefaults& open = {},
                     FileAccess access = FileAccess::kMap);
  /// The same model as it was read, with other defaults open. Reads no file.
  OnnxModel(const OnnxModel& other, const OpenDefaults& open);
  ~OnnxModel();
  OnnxModel(const OnnxModel&) = delete;
  OnnxModel& operator=(const OnnxModel&) = delete;

  /// The main graph with inferred types. May be called again after inline_functions.
  [[nodiscard]] std::unique_ptr<Graph> to_graph() const;
  /// True if a node of that operator has a body to inline: a function of the model, or a function
  /// body in its schema.
  [[nodiscard]] bool has_function(const Node& node) const;
  /// True if the model brings functions of its own.
  [[nodiscard]] bool has_functions() const;
  /// Replaces the calls for which `wanted` is true by their bodies, nested calls included; checks
  /// and infers again. False: nothing was replaced, since a schema may have no body for these types
  /// and attributes.
  bool inline_functions(const std::function<bool(const FunctionCall&)>& wanted);
  /// By name of a node whose operator has a body that could not be built for it: why.
  [[nodiscard]] const std::map<std::string, std::string>& body_refusals() const;

  /// True if nodes read the default of an input as a constant.
  [[nodiscard]] bool has_constant_defaults() const;
  /// True if the model itself declares every extent of its outputs, so that none was concluded from
  /// a default.
  [[nodiscard]] bool declares_outputs() const;
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const;
  [[nodiscard]] const std::map<std::string, int>& opsets() const;  ///< domain -> version
  /// What the file does against the specification (leniencies.h), one sentence for each fault.
  [[nodiscard]] std::vector<std::string> warnings() const;
  [[nodiscard]] int64_t ir_version() const;
  [[nodiscard]] std::string producer() const;
  [[nodiscard]] ModelDescription description() const;
  /// For export_fragment; valid until inline_functions.
  [[nodiscard]] ModelParts parts() const;
  /// The files that it was read from, the model's own first; none for a model in memory.
  [[nodiscard]] const std::vector<std::shared_ptr<const MappedFile>>& files() const;
  /// Bytes of constants that are views onto maps.
  [[nodiscard]] uint64_t mapped_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// True if the operator's schema says that equal inputs may give different outputs (random
/// operators).
bool is_nondeterministic(const Node& node);

}  // namespace gantry
