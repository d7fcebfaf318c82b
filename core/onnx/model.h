// SPDX-License-Identifier: Apache-2.0
// ONNX import: converts a mapped model file to a Graph. Large constants are views of the mapped
// model or of mapped external data, and are never copied; the onnx library's checker, shape
// inference and function inliner work on the same model without these bytes. One thread at a time.
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
#include "graph/declared_operator.h"
#include "graph/graph.h"
#include "onnx/messages/function_call.h"
#include "onnx/model_changes.h"

namespace gantry {

struct ModelParts;

/// What a plan leaves open of the main graph's inputs.
struct OpenInputs {
  /// The inputs with a default that nodes read as inputs. A default is an initializer that the main
  /// graph also lists as an input, from IR version 4 on. For all other such inputs nodes read the
  /// default as a constant, and no node reads the input.
  bool all = true;
  std::set<std::string> names = {};  ///< if not all
  /// Inputs that the model declares as scalars and that are of any rank.
  std::set<std::string> ranks = {};
};

/// A checked ONNX model. An initializer that the main graph lists as an input too is that input's
/// default value, from IR version 4 on; before, and in bodies, it is a constant. The file stays
/// mapped as long as the model or a constant made from it lives.
class OnnxModel {
 public:
  /// Maps, scans, checks. NOT_FOUND: no such file (model or external data). INVALID_MODEL: not a
  /// model, truncated, cyclic, breaks a rule of the onnx checker or of type inference, external
  /// data outside the model's folder or too short.
  /// INVALID_ARGUMENT: `changes` names what the model does not have. `operators`: those of
  /// providers.
  explicit OnnxModel(const ModelSource& source, const OpenInputs& open = {},
                     FileAccess access = FileAccess::kMap, const ModelChanges& changes = {},
                     const std::vector<DeclaredOperator>& operators = {});
  /// The same model as it was read, with other open inputs. Reads no file.
  OnnxModel(const OnnxModel& other, const OpenInputs& open);
  ~OnnxModel();
  OnnxModel(const OnnxModel&) = delete;
  OnnxModel& operator=(const OnnxModel&) = delete;

  /// The main graph with inferred types. May be called again after inline_functions.
  [[nodiscard]] std::unique_ptr<Graph> to_graph() const;
  /// True if a node has a body to inline: a model-local function, or the function body of its
  /// schema.
  [[nodiscard]] bool has_function(const Node& node) const;
  /// True if the model has model-local functions.
  [[nodiscard]] bool has_functions() const;
  /// Inlines the calls for which `wanted` is true, nested calls included; checks the model and
  /// infers types again. False: nothing was replaced, as a schema may have no body for these types
  /// and attributes.
  bool inline_functions(const std::function<bool(const FunctionCall&)>& wanted);
  /// By name of a node whose operator has a body that could not be built for the node: the reason.
  [[nodiscard]] const std::map<std::string, std::string>& body_refusals() const;

  /// True if nodes read the default of an input as a constant.
  [[nodiscard]] bool has_constant_defaults() const;
  /// Inputs without a default that the model declares as tensors without axes.
  [[nodiscard]] const std::set<std::string>& scalar_inputs() const;
  /// True if the model declares every extent of its outputs, so that none was inferred from a
  /// default.
  [[nodiscard]] bool declares_outputs() const;
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const;
  [[nodiscard]] const std::map<std::string, int>& opsets() const;  ///< domain -> version
  /// The violations of the specification in the file (leniencies.h), and the changes without
  /// effect, one sentence for each.
  [[nodiscard]] std::vector<std::string> warnings() const;
  [[nodiscard]] int64_t ir_version() const;
  [[nodiscard]] std::string producer() const;
  [[nodiscard]] ModelDescription description() const;
  /// For export_fragment; valid until inline_functions.
  [[nodiscard]] ModelParts parts() const;
  /// The files of the model, the model file first; of a model in memory only external data.
  [[nodiscard]] const std::vector<std::shared_ptr<const MappedFile>>& files() const;
  /// Size of the constants that are views of mapped files.
  [[nodiscard]] uint64_t mapped_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// True if the operator's schema says that equal inputs may give different outputs (random
/// operators).
bool is_nondeterministic(const Node& node);

}  // namespace gantry
