// SPDX-License-Identifier: Apache-2.0
// Builds the function body of a Gradient node: the nodes that compute the target, then those of the
// derivatives, which the rules of rules.h add. One thread.
#pragma once

#include <gantry/error.h>

#include <cstdint>
#include <map>
#include <onnx/defs/attr_proto_util.h>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "onnx/messages/proto.h"
#include "onnx/messages/value_types.h"

namespace gantry {

using Names = std::vector<std::string>;
using Attributes = std::vector<onnx::AttributeProto>;

/// Null if the node has no such attribute.
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, const char* name);
int64_t int_of(const onnx::NodeProto& node, const char* name, int64_t fallback);
float float_of(const onnx::NodeProto& node, const char* name, float fallback);
std::string text_of(const onnx::NodeProto& node, const char* name, const char* fallback);
/// `count` times `fallback` if the node has no such attribute.
std::vector<int64_t> ints_of(const onnx::NodeProto& node, const char* name, size_t count,
                             int64_t fallback);
/// The attribute "axis", from 0 to rank - 1.
int axis_of(const onnx::NodeProto& node, int rank, int64_t fallback);

/// Input `i` and the first output, by name.
inline const std::string& in(const onnx::NodeProto& node, int i = 0) { return node.input(i); }
inline const std::string& out(const onnx::NodeProto& node) { return node.output(0); }

class Backward {
 public:
  /// `graph`: the graph of the Gradient node. Borrows its arguments.
  Backward(const onnx::GraphProto& graph, const onnx::NodeProto& gradient, const ValueTypes& types,
           int opset)
      : graph_(graph), gradient_(gradient), types_(types), opset_(opset) {}

  onnx::FunctionProto body;

  /// Throws; the message names the Gradient node.
  [[noreturn]] void fail(Code code, const std::string& what) const;

  /// Marks the outputs of a node that depend on the variables by their values, not only through
  /// shapes, indices or operators with derivative 0.
  void follow(const onnx::NodeProto& node);
  void depend(const std::string& name) { depends_.insert(name); }
  [[nodiscard]] bool wants(const std::string& name) const { return depends_.contains(name); }
  /// UNSUPPORTED if an input from `first` on depends on the variables.
  void refuse_from(const onnx::NodeProto& node, int first) const;

  /// Adds a node; returns its output.
  std::string add(const char* op_type, const Names& inputs, const Attributes& attributes = {});
  /// Adds a node with several outputs; returns them. Only the type of the first is tracked.
  Names add_all(const char* op_type, const Names& inputs, const Attributes& attributes,
                int outputs);
  std::string list(const std::vector<int64_t>& numbers);
  /// An int64 constant of rank 0.
  std::string whole(int64_t number);
  /// A constant of the type of `like`, of rank 0.
  std::string number(const std::string& like, double value) { return numbers(like, {value}, {}); }
  /// A constant tensor of the type of `like` and shape `extents`. UNSUPPORTED: the type is no float
  /// type.
  std::string numbers(const std::string& like, const std::vector<double>& values,
                      const std::vector<int64_t>& extents);
  /// The shape of a value: a constant if it is known, else a Shape node.
  std::string shape_of(const std::string& name);
  std::string reshaped(const std::string& value, const std::string& like) {
    return add("Reshape", {value, shape_of(like)});
  }
  /// Tensors of the shape and type of `like` with all elements 1 or 0.
  std::string ones_like(const std::string& like);
  std::string zeros_like(const std::string& like);
  std::string product(const std::string& a, const std::string& b) { return add("Mul", {a, b}); }
  std::string scaled(const std::string& value, double factor) {
    return add("Mul", {value, number(value, factor)});
  }
  /// `value` where `condition` is true, else 0.
  std::string where(const std::string& condition, const std::string& value) {
    return add("Where", {condition, value, number(value, 0)});
  }
  /// The second output of a node of the differentiated part (the mask of Dropout); added if absent.
  std::string mask_of(const onnx::NodeProto& node);
  /// Reductions over `axes` with keepdims = 1.
  std::string sum_over(const std::string& value, const std::vector<int64_t>& axes);
  std::string mean_over(const std::string& value, const std::vector<int64_t>& axes);
  std::string transposed(const std::string& value, int rank);

  /// UNSUPPORTED: the rank is not known.
  [[nodiscard]] int rank_of(const std::string& name) const;
  /// Extents of a value; -1: not known.
  [[nodiscard]] std::vector<int64_t> extents_of(const std::string& name) const;
  /// Extents that must all be known. UNSUPPORTED, with `op_type`, if one is not.
  [[nodiscard]] std::vector<int64_t> known_extents(const std::string& name,
                                                   const std::string& op_type) const;
  /// The elements of a constant of the graph (an initializer, or a Constant node with a tensor) of
  /// type float32, float64, int32 or int64; nothing for every other value.
  [[nodiscard]] std::optional<std::vector<double>> constant(const std::string& name) const;
  /// ONNX element type of a value. UNSUPPORTED: it is not known.
  [[nodiscard]] int32_t element_type(const std::string& name) const;
  [[nodiscard]] int opset() const { return opset_; }

  /// Adds `part` to the derivative of the target by `name`. `part` has the shape of `like`, to
  /// which `name` was broadcast, except in the last `own_axes` axes, where it has the shape of
  /// `name`.
  void give(const std::string& name, const std::string& like, const std::string& part,
            int own_axes = 0) {
    if (depends_.contains(name)) parts_[name].push_back(narrowed(name, like, part, own_axes));
  }
  void give(const std::string& name, const std::string& part) {
    if (depends_.contains(name)) parts_[name].push_back(part);
  }
  [[nodiscard]] bool has(const std::string& name) const { return parts_.contains(name); }
  /// The sum of the parts given so far; zeros if there are none.
  std::string derivative(const std::string& name);

 private:
  [[nodiscard]] const onnx::TypeProto::Tensor* find_type(const std::string& name) const;
  /// Element type of the output of a node that is being added; UNDEFINED: not known.
  [[nodiscard]] int32_t made_type(const onnx::NodeProto& node) const;
  /// Reverses broadcasting: sums over the axes along which `name` was repeated.
  std::string narrowed(const std::string& name, const std::string& like, const std::string& part,
                       int own_axes);

  const onnx::GraphProto& graph_;
  const onnx::NodeProto& gradient_;
  const ValueTypes& types_;
  int opset_;
  int count_ = 0;
  std::set<std::string> depends_;
  std::map<std::string, Names> parts_;
  std::map<std::string, int32_t> made_types_;  ///< element types of outputs of added nodes
};

}  // namespace gantry
