// SPDX-License-Identifier: Apache-2.0
// Builds function bodies for a node, as lines of the ONNX text format. One thread.
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

/// The node's attribute, or `fallback` if it is absent.
int64_t int_of(const BodyContext& context, const char* name, int64_t fallback);
float float_of(const BodyContext& context, const char* name, float fallback);
/// The attribute by which a body builder receives the opset of ai.onnx of the model.
constexpr char kOnnxOpset[] = "ai.onnx";
int64_t onnx_opset_of(const BodyContext& context);
/// Rank of an input; -1: unknown or absent.
int rank_of(const BodyContext& context, int input);
/// Extent of an input's axis, counted from the back if negative; -1: unknown or absent.
int64_t extent_of(const BodyContext& context, int input, int axis);
/// Gives an output the shape of input 0, if that is known. The library's own function would
/// dereference the type of an untyped input.
void propagate_shape(onnx::InferenceContext& context, size_t output);
/// Gives output 0 that rank, with unknown extents, so that bodies of its readers need not wait for
/// this body; negative: unknown.
void set_rank(onnx::InferenceContext& context, int rank);
int rank_of(const onnx::InferenceContext& context, size_t input);
/// ONNX element type of an input; 0: unknown or absent.
int type_of(const BodyContext& context, int input);

/// The middle part of a line with a Cast: "y" + cast_to(type) + "x)".
std::string cast_to(int type);

/// What schemas that are made in this folder say of their file.
inline const std::string kSchemaFile = "gantry";

/// An input or output of a schema.
struct Formal {
  const char* name;
  bool is_optional;
};
/// A schema of com.microsoft in which every input and output has its own type variable, of any
/// type.
onnx::OpSchema microsoft_schema(const char* name, const std::vector<Formal>& inputs,
                                const std::vector<Formal>& outputs);

/// Stores in `function` the reason why there is no body: "expected ..., found ...". Returns false,
/// for builders to return.
bool refuse(onnx::FunctionProto& function, std::string why);
/// The reason that `refuse` stored; "": none.
const std::string& refusal_of(const onnx::FunctionProto& function);
/// Reasons of several operators.
constexpr char kTypeUnknown[] = "the element type of the first input is not known before the run";
constexpr char kRankUnknown[] = "the rank of the first input is not known before the run";

class BodyText {
 public:
  explicit BodyText(onnx::FunctionProto& function) : function_(function), builder_(function) {}

  [[nodiscard]] const onnx::FunctionProto& function() const { return function_; }

  /// As the free function.
  bool refuse(std::string why) { return gantry::refuse(function_, std::move(why)); }

  /// Adds a node: "y = Add(a, b)".
  void add(const std::string& line) { builder_.Add(line.c_str()); }
  /// Adds nodes, one per line.
  void add_lines(std::string_view lines);
  void add_node(onnx::NodeProto node) { *function_.add_node() = std::move(node); }
  /// Copies these attributes of the call, as far as it has them, to the last node.
  void copy_attributes(const BodyContext& context, std::initializer_list<const char*> names);
  /// Adds a node with an attribute.
  void add(const std::string& line, const char* attribute, float value) {
    builder_.Add(line.c_str(), std::string(attribute), value);
  }
  void sum(const std::string& to, const std::string& a, const std::string& b) {
    add(to + " = Add(" + a + ", " + b + ")");
  }
  /// Concatenates both along an axis.
  void join(const std::string& to, const std::string& a, const std::string& b, int64_t axis) {
    add(to + " = Concat<axis = " + std::to_string(axis) + ">(" + a + ", " + b + ")");
  }
  /// The slice at index `place` of an axis, without that axis.
  void pick(const std::string& to, const std::string& tensor, int64_t place, int64_t axis);
  /// A constant of rank 1.
  void ints(const std::string& name, const std::vector<int64_t>& values) {
    builder_.Const(name, values);
  }
  void numbers(const std::string& name, const std::vector<float>& values) {
    builder_.Const(name, values);
  }
  /// A constant of rank 0.
  void number(const std::string& name, float value) { builder_.Const(name, value); }
  void number(const std::string& name, int64_t value) { builder_.Const(name, value); }

  /// One extent of a tensor, as a tensor of rank 1.
  void extent(const std::string& to, const std::string& tensor, int64_t axis);
  void extent_of_last(const std::string& to, const std::string& tensor);
  /// Slice [begin, end) of an axis; `begin` and `end` name tensors of rank 1.
  void slice(const std::string& to, const std::string& tensor, const std::string& begin,
             const std::string& end, int64_t axis);
  /// Reshapes to the concatenated extents, which are names of tensors of rank 1.
  void reshape(const std::string& to, const std::string& tensor,
               const std::vector<std::string>& extents);
  void reshape(const std::string& to, const std::string& tensor,
               const std::vector<int64_t>& extents);
  void unsqueeze(const std::string& to, const std::string& tensor,
                 const std::vector<int64_t>& axes);
  /// [0, 1, ... end), where `end` names a tensor of shape [1].
  void count(const std::string& to, const std::string& end);

 private:
  onnx::FunctionProto& function_;
  onnx::FunctionBuilder builder_;
};

/// Writes the body of a node's operator. False: there is none for this node.
using BuildBody = bool(const BodyContext& context, BodyText& body);

/// Gives the operator the body that `build` writes.
void set_body(onnx::OpSchema& schema, BuildBody* build);

/// An operator of com.microsoft, as a row of a table.
struct BodyRow {
  const char* name;
  /// Names separated by ", "; with a '?' after the name of an optional one.
  const char* inputs;
  const char* outputs;
  /// A letter for the element type of each output: a digit: the type of that input; 'f' float; 'i'
  /// int32; 'l' int64; 'h' uint32 or, if attribute `positive` is 0, int32; '-' unknown until the
  /// body is inlined.
  const char* output_types;
  BuildBody* build;  ///< null: only providers run the operator
};
onnx::OpSchema schema_of(const BodyRow& row, const char* domain = "com.microsoft");

}  // namespace gantry
