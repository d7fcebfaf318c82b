// SPDX-License-Identifier: Apache-2.0
#include "custom_ops/selection.h"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>

namespace gantry::ort {
namespace {

using nlohmann::json;

// By gantry_dtype, as manifests name them.
constexpr std::array<const char*, 29> kNames = {"any",
                                                "float32",
                                                "uint8",
                                                "int8",
                                                "uint16",
                                                "int16",
                                                "int32",
                                                "int64",
                                                "string",
                                                "bool",
                                                "float16",
                                                "float64",
                                                "uint32",
                                                "uint64",
                                                "complex64",
                                                "complex128",
                                                "bfloat16",
                                                "float8e4m3fn",
                                                "float8e4m3fnuz",
                                                "float8e5m2",
                                                "float8e5m2fnuz",
                                                "uint4",
                                                "int4",
                                                "float4e2m1",
                                                "float8e8m0",
                                                "uint2",
                                                "int2",
                                                "float6e2m3",
                                                "float6e3m2"};

const char* name_of(uint32_t dtype) { return dtype < kNames.size() ? kNames[dtype] : kNames[0]; }

// Why a node's inputs, or its outputs, are not those that are declared; empty: they are.
std::string mismatch(const std::vector<Parameter>& declared, const char* what, int count,
                     const std::function<sdk::ValueView(int)>& value) {
  size_t given = 0;
  for (int i = 0; i < count; ++i) {
    const sdk::ValueView view = value(i);
    if (!view.present()) continue;
    given = static_cast<size_t>(i) + 1;
    const std::string which = std::string(what) + " " + std::to_string(i);
    const Parameter* parameter = DeclaredOp::at(declared, static_cast<size_t>(i));
    if (!parameter) return which + " is not declared";
    if (view.kind() != GANTRY_KIND_TENSOR && view.kind() != GANTRY_KIND_UNKNOWN)
      return which + " is no tensor";
    const uint32_t dtype = view.dtype();
    if (dtype != 0 && parameter->dtype != 0 && dtype != parameter->dtype) {
      return which + " is " + name_of(dtype) + ", the library takes " + name_of(parameter->dtype);
    }
  }
  size_t least = 0;
  for (size_t i = 0; i < declared.size(); ++i) {
    if (declared[i].least > 0) least = i + declared[i].least;
  }
  if (given >= least) return {};
  return std::to_string(given) + " " + what + "s, the library needs " + std::to_string(least);
}

std::string mismatch(const DeclaredOp& declared, const sdk::NodeView& node) {
  const int version = node.since_version();
  if (version < declared.first_version ||
      (declared.last_version > 0 && version > declared.last_version)) {
    return "version " + std::to_string(version) + " of its operator set, the library has it from " +
           std::to_string(declared.first_version);
  }
  std::string reason =
      mismatch(declared.inputs, "input", node.input_count(), [&](int i) { return node.input(i); });
  if (!reason.empty()) return reason;
  return mismatch(declared.outputs, "output", node.output_count(),
                  [&](int i) { return node.output(i); });
}

size_t first_untyped(const DeclaredOp& declared) {
  const auto found = std::find_if(declared.inputs.begin(), declared.inputs.end(),
                                  [](const Parameter& input) { return input.dtype == 0; });
  return static_cast<size_t>(found - declared.inputs.begin());
}

json output_json(const DeclaredOp& declared, const Parameter& output) {
  if (output.dtype != 0) return {{"type", name_of(output.dtype)}};
  const size_t like = first_untyped(declared);
  if (like == declared.inputs.size()) return {{"type", nullptr}};
  return {{"like", like}, {"shape", nullptr}};
}

json operator_json(const DeclaredOp& declared) {
  json inputs = json::array();
  for (const Parameter& input : declared.inputs)
    inputs.push_back(input.dtype != 0 ? json(name_of(input.dtype)) : json(nullptr));
  json outputs = json::array();
  for (const Parameter& output : declared.outputs) outputs.push_back(output_json(declared, output));
  return {{"domain", declared.domain},
          {"op_type", declared.name},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)}};
}

}  // namespace

std::shared_ptr<const DeclaredOp> select_operator(const DeclaredOps& operators,
                                                  const sdk::NodeView& node, std::string& reason) {
  reason = "the libraries of operators have no " + std::string(node.op_type()) + " in domain \"" +
           std::string(node.domain()) + "\"";
  for (const auto& declared : operators) {
    if (declared->name != node.op_type() || declared->domain != node.domain()) continue;
    reason = mismatch(*declared, node);
    if (reason.empty()) return declared;
  }
  return nullptr;
}

uint32_t output_dtype(const DeclaredOp& declared, const sdk::NodeView& node, int output) {
  if (node.output(output).dtype() != 0) return node.output(output).dtype();
  const Parameter* parameter = DeclaredOp::at(declared.outputs, static_cast<size_t>(output));
  if (parameter && parameter->dtype != 0) return parameter->dtype;
  const size_t like = first_untyped(declared);
  if (like == declared.inputs.size()) return 0;
  return node.input(static_cast<int>(like)).dtype();
}

std::string to_json(const DeclaredOps& operators) {
  json all = json::array();
  for (const auto& declared : operators) all.push_back(operator_json(*declared));
  return all.dump();
}

}  // namespace gantry::ort
