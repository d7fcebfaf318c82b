// SPDX-License-Identifier: Apache-2.0
// The function under construction of a Gradient node: the nodes that compute the target, then those
// of the derivatives. The rules of rules.h add to it. One thread.
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
  /// `graph`: where the Gradient node stands. References are kept.
  Backward(const onnx::GraphProto& graph, const onnx::NodeProto& gradient, const ValueTypes& types,
           int opset)
      : graph_(graph), gradient_(gradient), types_(types), opset_(opset) {}

  onnx::FunctionProto body;

  /// Throws; the message names the Gradient node.
  [[noreturn]] void fail(Code code, const std::string& what) const;

  /// Marks what depends on the variables: through values, not through shapes, places and what has
  /// no slope.
  void follow(const onnx::NodeProto& node);
  void depend(const std::string& name) { depends_.insert(name); }
  [[nodiscard]] bool wants(const std::string& name) const { return depends_.contains(name); }
  /// UNSUPPORTED if an input from `first` on depends on the variables.
  void refuse_from(const onnx::NodeProto& node, int first) const;

  /// Adds a node; its one output.
  std::string add(const char* op_type, const Names& inputs, const Attributes& attributes = {});
  /// Adds a node with several outputs, of which the first has a type that is followed; all of them.
  Names add_all(const char* op_type, const Names& inputs, const Attributes& attributes,
                int outputs);
  std::string list(const std::vector<int64_t>& numbers);
  /// An integer of rank 0.
  std::string whole(int64_t number);
  /// A number of the type of `like`, of rank 0.
  std::string number(const std::string& like, double value) { return numbers(like, {value}, {}); }
  /// A constant tensor of the type of `like`, of shape `extents`. UNSUPPORTED: it is no float type.
  std::string numbers(const std::string& like, const std::vector<double>& values,
                      const std::vector<int64_t>& extents);
  /// The shape of a value: a constant where it is known.
  std::string shape_of(const std::string& name);
  std::string reshaped(const std::string& value, const std::string& like) {
    return add("Reshape", {value, shape_of(like)});
  }
  /// Tensors of the shape and type of `like`, all elements 1, or 0.
  std::string ones_like(const std::string& like);
  std::string zeros_like(const std::string& like);
  std::string product(const std::string& a, const std::string& b) { return add("Mul", {a, b}); }
  std::string scaled(const std::string& value, double factor) {
    return add("Mul", {value, number(value, factor)});
  }
  /// `value` where the condition holds, else 0.
  std::string where(const std::string& condition, const std::string& value) {
    return add("Where", {condition, value, number(value, 0)});
  }
  /// The second output of a node of the differentiated part, which is given one if it has none.
  std::string mask_of(const onnx::NodeProto& node);
  /// The axes are kept.
  std::string sum_over(const std::string& value, const std::vector<int64_t>& axes);
  std::string mean_over(const std::string& value, const std::vector<int64_t>& axes);
  std::string transposed(const std::string& value, int rank);

  /// UNSUPPORTED if it is not known.
  [[nodiscard]] int rank_of(const std::string& name) const;
  /// Extents; -1 where one is not known.
  [[nodiscard]] std::vector<int64_t> extents_of(const std::string& name) const;
  /// Extents that must all be known. UNSUPPORTED, with `op_type`, if one is not.
  [[nodiscard]] std::vector<int64_t> known_extents(const std::string& name,
                                                   const std::string& op_type) const;
  /// The numbers of a constant of the graph: an initializer, or what a Constant makes of a tensor.
  /// Nothing: it is none, or none of f32, f64, or integers of 32 or 64 bits.
  [[nodiscard]] std::optional<std::vector<double>> constant(const std::string& name) const;
  /// ONNX element type. UNSUPPORTED if it is not known.
  [[nodiscard]] int32_t element_type(const std::string& name) const;
  [[nodiscard]] int opset() const { return opset_; }

  /// One more part of the derivative of the target by `name`, of the shape of `like`, to which
  /// `name` was broadcast; but for the last `own_axes` axes, in which it has the shape of `name`.
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
  /// Of a node that is being added, which has one output; UNDEFINED if it is not known.
  [[nodiscard]] int32_t made_type(const onnx::NodeProto& node) const;
  /// Undoes broadcasting: sums over the axes along which `name` was repeated.
  std::string narrowed(const std::string& name, const std::string& like, const std::string& part,
                       int own_axes);

  const onnx::GraphProto& graph_;
  const onnx::NodeProto& gradient_;
  const ValueTypes& types_;
  int opset_;
  int count_ = 0;
  std::set<std::string> depends_;
  std::map<std::string, Names> parts_;
  std::map<std::string, int32_t> made_types_;  ///< element types of what was added
};

}  // namespace gantry
