// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/retype.h"

#include <algorithm>
#include <onnx/defs/data_type_utils.h>
#include <set>
#include <string>

#include "onnx/schema/schema_store.h"

namespace gantry {
namespace {

using Formals = std::vector<onnx::OpSchema::FormalParameter>;

// The formal parameter of an input or output; null: the schema has none at that index.
const onnx::OpSchema::FormalParameter* formal_at(const Formals& formals, size_t index) {
  if (formals.empty()) return nullptr;
  const auto& formal = formals[std::min(index, formals.size() - 1)];
  if (index < formals.size()) return &formal;
  return formal.GetOption() == onnx::OpSchema::Variadic ? &formal : nullptr;
}

// True if the formal has a type variable that other formals may share, and that allows `wanted`.
bool may_be(const onnx::OpSchema& schema, const onnx::OpSchema::FormalParameter& formal,
            onnx::DataType wanted) {
  const bool is_shared =
      formal.GetOption() != onnx::OpSchema::Variadic || formal.GetIsHomogeneous();
  return is_shared && schema.typeConstraintMap().contains(formal.GetTypeStr()) &&
         formal.GetTypes().contains(wanted);
}

// Operators whose result type is named by an attribute or, if that is absent, is the type of the
// scale.
bool names_result_type(const Node& node) {
  return node.domain.empty() && (node.op_type == "Cast" || node.op_type == "DequantizeLinear");
}

}  // namespace

bool can_retype(const Node& node, DType from, DType to) {
  if (!node.captures.empty() || !node.bodies().empty() || node.op_type == "BitCast") return false;
  const onnx::OpSchema* schema =
      SchemaStore::instance().GetSchema(node.op_type, node.since_version, node.domain);
  if (!schema) return false;
  const onnx::DataType wanted = onnx::Utils::DataTypeUtils::ToType(
      "tensor(" + onnx::Utils::DataTypeUtils::ToDataTypeString(static_cast<int32_t>(to)) + ")");
  std::set<std::string> changed;  // type variables
  bool has_any = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const GraphValue* value = node.inputs[i];
    if (!value) continue;
    if (value->type.kind != Kind::kTensor || value->type.dtype == DType::kUndefined) return false;
    if (value->type.dtype != from) continue;
    const auto* formal = formal_at(schema->inputs(), i);
    if (!formal || !may_be(*schema, *formal, wanted)) return false;
    changed.insert(formal->GetTypeStr());
    has_any = true;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const GraphValue* value = node.outputs[i];
    if (!value || value->type.dtype != from) continue;
    const auto* formal = formal_at(schema->outputs(), i);
    if (value->type.kind != Kind::kTensor || !formal || !may_be(*schema, *formal, wanted))
      return false;
    if (!changed.contains(formal->GetTypeStr()) && !names_result_type(node)) return false;
    has_any = true;
  }
  return has_any;
}

}  // namespace gantry
