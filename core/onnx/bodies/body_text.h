// SPDX-License-Identifier: Apache-2.0
// Bodies of operators, written as lines of ONNX's text form while it is looked at the node that
// they are for. One thread.
#pragma once

#include <initializer_list>
#include <onnx/defs/function.h>
#include <onnx/defs/schema.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/messages/proto.h"

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
/// The extent of an input's axis, from the back if negative; -1: unknown or absent.
int64_t extent_of(const BodyContext& context, int input, int axis);
/// Gives an output the shape of input 0, if something is known of it: the library's function of
/// that kind reads the type of an input that has none.
void propagate_shape(onnx::InferenceContext& context, size_t output);
/// Gives output 0 that many axes, of unknown extents, so that bodies behind it need not wait for
/// this one; negative: nothing is known.
void set_rank(onnx::InferenceContext& context, int rank);
int rank_of(const onnx::InferenceContext& context, size_t input);
/// Number of ONNX of an input's element type; 0: unknown or absent.
int type_of(const BodyContext& context, int input);

/// The middle of a line that casts to a type: "y" + cast_to(type) + "x)".
std::string cast_to(int type);

/// An input or output of a schema.
struct Formal {
  const char* name;
  bool is_optional;
};
/// A schema of com.microsoft whose inputs and outputs have each a type of its own, any.
onnx::OpSchema microsoft_schema(const char* name, const std::vector<Formal>& inputs,
                                const std::vector<Formal>& outputs);

/// Leaves in the body that is not built why: "expected ..., found ...". False, for builders to
/// return.
bool refuse(onnx::FunctionProto& function, std::string why);
/// What `refuse` left there; "": nothing.
const std::string& refusal_of(const onnx::FunctionProto& function);
/// Reasons that several operators have.
constexpr char kTypeUnknown[] = "the element type of the first input is not known before the run";
constexpr char kRankUnknown[] = "the rank of the first input is not known before the run";

class BodyText {
 public:
  explicit BodyText(onnx::FunctionProto& function) : function_(function), builder_(function) {}

  /// As the function of that name.
  bool refuse(std::string why) { return gantry::refuse(function_, std::move(why)); }

  /// A node: "y = Add(a, b)".
  void add(const std::string& line) { builder_.Add(line.c_str()); }
  /// Nodes, one on each line.
  void add_lines(std::string_view lines);
  /// Gives the last node those of the call's attributes that the call has.
  void copy_attributes(const BodyContext& context, std::initializer_list<const char*> names);
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
  void numbers(const std::string& name, const std::vector<float>& values) {
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
  onnx::FunctionProto& function_;
  onnx::FunctionBuilder builder_;
};

/// An operator of com.microsoft, as a row of a table.
struct BodyRow {
  const char* name;
  /// Names with ", " between them; '?' behind the name of one that may be absent.
  const char* inputs;
  const char* outputs;
  /// A letter for each output, its element type: a digit is an input whose type it has, 'f' float,
  /// 'i' int32, 'l' int64, 'h' uint32 or, if attribute `positive` is 0, int32, '-' unknown before
  /// the body is there.
  const char* output_types;
  /// Writes the body. False: there is none for this node. Null: only providers run the operator.
  bool (*build)(const BodyContext& context, BodyText& body);
};
onnx::OpSchema schema_of(const BodyRow& row, const char* domain = "com.microsoft");

}  // namespace gantry
