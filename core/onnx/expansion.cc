// SPDX-License-Identifier: Apache-2.0
#include "onnx/expansion.h"

#include <gantry/error.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace gantry {
namespace {

constexpr uint64_t kMostNodes = 500'000;
constexpr int kMostDepth = 200;  // of functions that call each other

std::string key_of(const std::string& domain, const std::string& name,
                   const std::string& overload) {
  return domain + '\0' + name + '\0' + overload;
}

class NodeCount {
 public:
  explicit NodeCount(const onnx::ModelProto& model) {
    for (const onnx::FunctionProto& function : model.functions()) {
      functions_.try_emplace(key_of(function.domain(), function.name(), function.overload()),
                             &function);
    }
  }

  // Up to kMostNodes + 1, so that no sum runs over.
  uint64_t of(const onnx::NodeProto& node) {
    uint64_t count = 1;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) count = sum(count, of_all(attribute.g().node()));
      for (const onnx::GraphProto& body : attribute.graphs())
        count = sum(count, of_all(body.node()));
    }
    const auto found = functions_.find(key_of(node.domain(), node.op_type(), node.overload()));
    return found == functions_.end() ? count : sum(count, of(*found->second));
  }

  template <class Nodes>
  uint64_t of_all(const Nodes& nodes) {
    uint64_t count = 0;
    for (const onnx::NodeProto& node : nodes) count = sum(count, of(node));
    return count;
  }

 private:
  static uint64_t sum(uint64_t a, uint64_t b) { return std::min(a + b, kMostNodes + 1); }

  uint64_t of(const onnx::FunctionProto& function) {
    // While it is being counted it counts as nothing: a circle ends here.
    const auto [entry, is_new] = counts_.try_emplace(&function, 0);
    if (!is_new) return entry->second;
    if (++depth_ > kMostDepth) {
      throw Error(Code::kInvalidModel,
                  "functions call each other more than " + std::to_string(kMostDepth) + " deep");
    }
    const uint64_t count = of_all(function.node());
    --depth_;
    return counts_[&function] = count;
  }

  std::unordered_map<std::string, const onnx::FunctionProto*> functions_;
  std::unordered_map<const onnx::FunctionProto*, uint64_t> counts_;
  int depth_ = 0;
};

}  // namespace

void check_expansion(const onnx::ModelProto& model) {
  if (model.functions().empty()) return;
  NodeCount count(model);
  if (count.of_all(model.graph().node()) > kMostNodes) {
    throw Error(Code::kUnsupported,
                "the functions that the model calls, and those that they call, have more than " +
                    std::to_string(kMostNodes) +
                    " nodes together, which is the most that gantry puts in place of calls; have "
                    "the exporter call them less often");
  }
}

}  // namespace gantry
