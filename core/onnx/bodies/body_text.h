// SPDX-License-Identifier: Apache-2.0
// Bodies of operators, written as lines of ONNX's text form while it is looked at the node that
// they are for. One thread.
#pragma once

#include <onnx/defs/function.h>
#include <onnx/defs/schema.h>
#include <string>
#include <utility>
#include <vector>

#include "onnx/proto.h"

namespace gantry {

using BodyContext = onnx::FunctionBodyBuildContext;

/// The node's attribute, or what it is if the node does not say.
int64_t int_of(const BodyContext& context, const char* name, int64_t fallback);
float float_of(const BodyContext& context, const char* name, float fallback);
/// The attribute under which a body is told the version of ai.onnx that it has to be valid in.
constexpr char kOnnxOpset[] = "ai.onnx";
int64_t onnx_opset_of(const BodyContext& context);
/// Axes of an input; -1: unknown or absent.
int rank_of(const BodyContext& context, int input);
/// Number of ONNX of an input's element type; 0: unknown or absent.
int type_of(const BodyContext& context, int input);

/// An input or output of a schema.
struct Formal {
  const char* name;
  bool is_optional;
};
/// A schema of com.microsoft whose inputs and outputs have each a type of its own, any.
onnx::OpSchema microsoft_schema(const char* name, const std::vector<Formal>& inputs,
                                const std::vector<Formal>& outputs);

class BodyText {
 public:
  explicit BodyText(onnx::FunctionProto& function) : builder_(function) {}

  /// A node: "y = Add(a, b)".
  void add(const std::string& line) { builder_.Add(line.c_str()); }
  /// A node with an attribute.
  void add(const std::string& line, const char* attribute, float value) {
    builder_.Add(line.c_str(), std::string(attribute), value);
  }
  void sum(const std::string& to, const std::string& a, const std::string& b) {
    add(to + " = Add(" + a + ", " + b + ")");
  }
  /// Both one behind the other along an axis.
  void join(const std::string& to, const std::string& a, const std::string& b, int64_t axis) {
    add(to + " = Concat<axis = " + std::to_string(axis) + ">(" + a + ", " + b + ")");
  }
  /// What stands at a place of an axis, without that axis.
  void pick(const std::string& to, const std::string& tensor, int64_t place, int64_t axis);
  /// A constant of one axis.
  void ints(const std::string& name, const std::vector<int64_t>& values) {
    builder_.Const(name, values);
  }
  /// A constant without axes.
  void number(const std::string& name, float value) { builder_.Const(name, value); }
  void number(const std::string& name, int64_t value) { builder_.Const(name, value); }

  /// One extent of a tensor, as a tensor of one axis.
  void extent(const std::string& to, const std::string& tensor, int64_t axis);
  void extent_of_last(const std::string& to, const std::string& tensor);
  /// Part [begin, end) of an axis; the names are of tensors of one axis.
  void slice(const std::string& to, const std::string& tensor, const std::string& begin,
             const std::string& end, int64_t axis);
  /// The tensor with the axes that the constants and tensors of one axis say one behind the other.
  void reshape(const std::string& to, const std::string& tensor,
               const std::vector<std::string>& extents);
  void reshape(const std::string& to, const std::string& tensor,
               const std::vector<int64_t>& extents);
  void unsqueeze(const std::string& to, const std::string& tensor,
                 const std::vector<int64_t>& axes);
  /// [0, 1, ...) up to a tensor of one axis and one element.
  void count(const std::string& to, const std::string& end);

 private:
  onnx::FunctionBuilder builder_;
};

}  // namespace gantry
