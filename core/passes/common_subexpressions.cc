// SPDX-License-Identifier: Apache-2.0
// Merges nodes that compute the same: the same operator and attributes on the same inputs, where
// constants of up to 64 bytes are compared by content. Random operators, nodes with bodies and
// nodes whose outputs are graph outputs are not merged.
//
//   %a = Abs-13(%x)
//   %b = Abs-13(%x)            =>   %a = Abs-13(%x)
//   %y = Add-14(%a, %b)             %y = Add-14(%a, %a)
#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "passes/pipeline.h"

namespace gantry {
namespace {

constexpr uint64_t kComparedBytes = 64;        // of a constant input
constexpr uint64_t kComparedTensor = 4 << 10;  // of a tensor in an attribute

/// Describes operator, attributes and inputs of a node as a text that is equal for equal nodes.
class NodeSignature {
 public:
  /// Nothing: the node is not compared.
  static std::optional<std::string> of(const Node& node) {
    NodeSignature signature;
    signature.add(node.op_type);
    signature.add(node.domain);
    signature.add(node.overload);
    signature.add(std::to_string(node.since_version));
    for (const GraphValue* value : node.inputs) signature.add(value);
    signature.add(std::to_string(node.outputs.size()));
    for (const GraphValue* value : node.outputs) signature.add(value ? "1" : "0");
    for (const Attribute& attribute : node.attributes) {
      signature.add(attribute.name);
      std::visit([&](const auto& value) { signature.add_attribute(value); }, attribute.value);
      if (!signature.is_known_) return std::nullopt;
    }
    return std::move(signature.text_);
  }

 private:
  void add(std::string_view text) {
    text_ += std::to_string(text.size());
    text_ += ':';
    text_ += text;
  }
  template <class T>
  void add_raw(const T& number) {
    add({reinterpret_cast<const char*>(&number), sizeof(number)});
  }

  void add(const GraphValue* value) {
    if (value && value->constant && add_content(*value->constant, kComparedBytes)) return;
    text_ += '%';
    add_raw(value);
  }

  /// False: too large, or not plain bytes.
  bool add_content(const gantry_value& value, uint64_t most_bytes) {
    if (value.kind != GANTRY_KIND_TENSOR || value.dtype == DType::kString ||
        value.view.size_bytes > most_bytes)
      return false;
    text_ += '=';
    add_raw(value.dtype);
    add_attribute(value.shape);
    add({static_cast<const char*>(value.view.data), value.view.size_bytes});
    return true;
  }

  template <class T>
  void add_attribute(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      add_raw(value);
    } else {
      is_known_ = false;  // graphs
    }
  }
  void add_attribute(const std::string& text) { add(text); }
  void add_attribute(const ValueRef& value) {
    is_known_ = is_known_ && value && add_content(*value, kComparedTensor);
  }
  template <class T>
  void add_attribute(const std::vector<T>& list) {
    add(std::to_string(list.size()));
    for (const T& item : list) add_attribute(item);
  }

  std::string text_;
  bool is_known_ = true;
};

bool is_comparable(const Node& node, const PassContext& context) {
  if (!node.captures.empty() || node.outputs.empty()) return false;
  if (context.is_kept && context.is_kept(node)) return false;
  if (context.is_nondeterministic && context.is_nondeterministic(node)) return false;
  return std::none_of(node.outputs.begin(), node.outputs.end(),
                      [](const GraphValue* value) { return value && value->is_output(); });
}

}  // namespace

bool merge_common_subexpressions(Graph& graph, const PassContext& context) {
  std::unordered_map<std::string, const Node*> first;
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    if (!is_comparable(*node, context)) continue;
    std::optional<std::string> signature = NodeSignature::of(*node);
    if (!signature) continue;
    const auto [entry, is_new] = first.try_emplace(std::move(*signature), node.get());
    if (is_new) continue;
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      if (node->outputs[i]) graph.replace_uses(node->outputs[i], entry->second->outputs[i]);
    }
    graph.remove_node(node.get());
    changed = true;
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace gantry
