// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/schema.h"

#include <gantry/error.h>

#include <algorithm>
#include <limits>
#include <onnx/defs/schema.h>

#include "onnx/schema/schema_store.h"

namespace gantry {
namespace {

// Domain -> lowest and highest version.
const std::unordered_map<std::string, std::pair<int, int>>& known_domains() {
  SchemaStore::instance();  // adds to them
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
}

// The version of a domain that a function imports; 0: it does not.
int opset_of(const onnx::FunctionProto& function, const std::string& domain) {
  for (const onnx::OperatorSetIdProto& item : function.opset_import()) {
    if (normal_domain(item.domain()) == domain) return static_cast<int>(item.version());
  }
  return 0;
}

}  // namespace

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::map<std::string, int> read_opsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  const auto& known = known_domains();
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
  const onnx::OpSchema* schema = SchemaStore::instance().GetSchema(op_type, opset, domain);
  return schema ? schema->SinceVersion() : opset;
}

int last_version(const std::string& op_type, const std::string& domain, int since_version) {
  const auto& known = known_domains();
  const auto range = known.find(domain);
  const auto is_same = [&](int opset) {
    const onnx::OpSchema* schema = SchemaStore::instance().GetSchema(op_type, opset, domain);
    return schema && schema->SinceVersion() == since_version;
  };
  if (range == known.end() || !is_same(since_version)) return since_version;
  int last = since_version;
  while (last < range->second.second && is_same(last + 1)) ++last;
  return last;
}

int oldest_opset(const std::string& domain) {
  const auto range = known_domains().find(domain);
  return range == known_domains().end() ? 0 : range->second.first;
}

int newest_opset(const std::string& domain) {
  const auto range = known_domains().find(domain);
  return range == known_domains().end() ? 0 : range->second.second;
}

bool is_taken_early(const std::string& op_type, int opset) {
  const onnx::OpSchema* schema = SchemaStore::instance().GetSchema(op_type, opset);
  return schema && schema->SinceVersion() > opset;
}

bool is_known_operator(const std::string& op_type, const std::string& domain) {
  return SchemaStore::instance().newest(op_type, normal_domain(domain)) != nullptr;
}

bool is_nondeterministic(const std::string& op_type, const std::string& domain, int version) {
  const onnx::OpSchema* schema = SchemaStore::instance().GetSchema(op_type, version, domain);
  if (!schema) return true;
  // For a schema with a body that does not declare this itself, the library would search the body
  // through its own registry. So the library is asked only if the body does not decide it.
  const onnx::FunctionProto* body = schema->HasFunction() && !schema->HasContextDependentFunction()
                                        ? schema->GetFunction()
                                        : nullptr;
  const auto is_random = [&](const onnx::NodeProto& node) {
    const std::string inner = normal_domain(node.domain());
    return is_nondeterministic(node.op_type(), inner, opset_of(*body, inner));
  };
  if (body && std::none_of(body->node().begin(), body->node().end(), is_random)) return false;
  return schema->GetNodeDeterminism() == onnx::OpSchema::NodeDeterminism::NonDeterministic;
}

}  // namespace gantry
