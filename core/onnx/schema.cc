// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema.h"

#include <gantry/error.h>

#include <limits>
#include <onnx/defs/schema.h>

namespace gantry {

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::map<std::string, int> read_opsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  std::map<std::string, int> opsets;
  for (const onnx::OperatorSetIdProto& item : imports) {
    const std::string domain = normal_domain(item.domain());
    const auto range = known.find(domain);
    const int64_t lowest = range == known.end() ? 0 : range->second.first;
    const int64_t highest =
        range == known.end() ? std::numeric_limits<int>::max() : range->second.second;
    if (item.version() < lowest || item.version() > highest) {
      throw Error(Code::kInvalidModel, "the model imports opset " + std::to_string(item.version()) +
                                           " of domain \"" + (domain.empty() ? "ai.onnx" : domain) +
                                           "\"; supported are " + std::to_string(lowest) + " to " +
                                           std::to_string(highest));
    }
    opsets[domain] = static_cast<int>(item.version());
  }
  return opsets;
}

int since_version(const std::string& op_type, const std::string& domain, int opset) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op_type, opset, domain);
  return schema ? schema->SinceVersion() : opset;
}

int last_version(const std::string& op_type, const std::string& domain, int since_version) {
  const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto range = known.find(domain);
  const auto is_same = [&](int opset) {
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op_type, opset, domain);
    return schema && schema->SinceVersion() == since_version;
  };
  if (range == known.end() || !is_same(since_version)) return since_version;
  int last = since_version;
  while (last < range->second.second && is_same(last + 1)) ++last;
  return last;
}

bool is_known_operator(const std::string& op_type, const std::string& domain) {
  return onnx::OpSchemaRegistry::Schema(op_type, normal_domain(domain)) != nullptr;
}

bool is_nondeterministic(const std::string& op_type, const std::string& domain, int version) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op_type, version, domain);
  return !schema ||
         schema->GetNodeDeterminism() == onnx::OpSchema::NodeDeterminism::NonDeterministic;
}

}  // namespace gantry
