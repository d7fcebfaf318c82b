// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/expansion.h"

#include <gantry/error.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace gantry {
namespace {

constexpr uint64_t kMostNodes = 500'000;
constexpr uint64_t kMostCalls = 50'000;
constexpr int kMostDepth = 200;  // of nested function calls

std::string key_of(const std::string& domain, const std::string& name,
                   const std::string& overload) {
  return domain + '\0' + name + '\0' + overload;
}

// Size of a graph or function after inlining, up to one beyond the limits.
struct Size {
  uint64_t nodes = 0;
  uint64_t calls = 0;

  Size& operator+=(const Size& other) {
    nodes = std::min(nodes + other.nodes, kMostNodes + 1);
    calls = std::min(calls + other.calls, kMostCalls + 1);
    return *this;
  }
};

class Expansion {
 public:
  explicit Expansion(const onnx::ModelProto& model) {
    for (const onnx::FunctionProto& function : model.functions()) {
      functions_.try_emplace(key_of(function.domain(), function.name(), function.overload()),
                             &function);
    }
  }

  template <class Nodes>
  Size of_all(const Nodes& nodes) {
    Size size;
    for (const onnx::NodeProto& node : nodes) size += of(node);
    return size;
  }

 private:
  Size of(const onnx::NodeProto& node) {
    Size size{1, 0};
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) size += of_all(attribute.g().node());
      for (const onnx::GraphProto& body : attribute.graphs()) size += of_all(body.node());
    }
    const auto found = functions_.find(key_of(node.domain(), node.op_type(), node.overload()));
    if (found == functions_.end()) return size;
    size += {0, 1};
    size += of(*found->second);
    return size;
  }

  Size of(const onnx::FunctionProto& function) {
    // A function counts as empty while it is being counted, so that recursion ends.
    const auto [entry, is_new] = sizes_.try_emplace(&function);
    if (!is_new) return entry->second;
    if (++depth_ > kMostDepth) {
      throw Error(Code::kInvalidModel,
                  "functions call each other more than " + std::to_string(kMostDepth) + " deep");
    }
    const Size size = of_all(function.node());
    --depth_;
    return sizes_[&function] = size;
  }

  std::unordered_map<std::string, const onnx::FunctionProto*> functions_;
  std::unordered_map<const onnx::FunctionProto*, Size> sizes_;
  int depth_ = 0;
};

[[noreturn]] void refuse(const std::string& what, const std::string& limit) {
  throw Error(Code::kUnsupported, "the functions that the model calls, and those that they call, " +
                                      what + ", " + limit +
                                      " that gantry puts in place of calls; have the exporter call "
                                      "them less often");
}

}  // namespace

void check_expansion(const onnx::ModelProto& model) {
  if (model.functions().empty()) return;
  const Size size = Expansion(model).of_all(model.graph().node());
  if (size.nodes > kMostNodes) {
    refuse("have more than " + std::to_string(kMostNodes) + " nodes together", "which is the most");
  }
  if (size.calls > kMostCalls)
    refuse("are called more than " + std::to_string(kMostCalls) + " times", "which is the most");
}

}  // namespace gantry
