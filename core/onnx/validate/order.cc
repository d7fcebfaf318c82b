// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/order.h"

#include <gantry/error.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace gantry {
namespace {

class OrderCheck {
 public:
  OrderCheck(const onnx::GraphProto& graph, const OrderCheck* outer)
      : graph_(graph), outer_(outer) {
    for (const auto& input : graph.input()) defined_.insert(input.name());
    for (const auto& tensor : graph.initializer()) defined_.insert(tensor.name());
    for (const auto& sparse : graph.sparse_initializer()) defined_.insert(sparse.values().name());
  }

  void run() {
    for (const onnx::NodeProto& node : graph_.node()) {
      for (const std::string& name : node.input()) {
        if (!name.empty() && !is_defined(name)) fail(node, name);
      }
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) OrderCheck(attribute.g(), this).run();
        for (const onnx::GraphProto& body : attribute.graphs()) OrderCheck(body, this).run();
      }
      for (const std::string& name : node.output()) defined_.insert(name);
    }
  }

 private:
  [[nodiscard]] bool is_defined(const std::string& name) const {
    return defined_.contains(name) || (outer_ && outer_->is_defined(name));
  }

  // Called while a node is visited: a value that is not defined yet comes later or never.
  [[nodiscard]] bool comes_later(const std::string& name) const {
    for (const onnx::NodeProto& node : graph_.node()) {
      for (const std::string& output : node.output()) {
        if (output == name) return true;
      }
    }
    return outer_ && outer_->comes_later(name);
  }

  [[noreturn]] void fail(const onnx::NodeProto& node, const std::string& name) const {
    throw Error(Code::kInvalidModel,
                label_of(node) + " reads \"" + name +
                    (comes_later(name)
                         ? "\" before it is computed; the nodes are not in the order of their "
                           "computation, or form a cycle"
                         : "\", which nothing in the model defines"));
  }

  const onnx::GraphProto& graph_;
  const OrderCheck* outer_;
  std::unordered_set<std::string_view> defined_;
};

// For each node of a graph the indices of the nodes whose outputs it reads. All names that a body
// reads count: its own names cannot be names of outer values too.
class Dependencies {
 public:
  explicit Dependencies(onnx::GraphProto& graph) : reads_(static_cast<size_t>(graph.node_size())) {
    for (int i = 0; i < graph.node_size(); ++i) {
      for (const std::string& name : graph.node(i).output()) {
        if (!name.empty()) makers_.emplace(name, static_cast<size_t>(i));
      }
    }
    for (size_t i = 0; i < reads_.size(); ++i) {
      onnx::NodeProto& node = *graph.mutable_node(static_cast<int>(i));
      for (const std::string& name : node.input()) add(i, name);
      onnx::for_each_body(node, [&](const onnx::GraphProto& body) {
        for (const onnx::NodeProto& inner : body.node()) {
          for (const std::string& name : inner.input()) add(i, name);
        }
        for (const auto& output : body.output()) add(i, output.name());
      });
    }
  }

  // The first node that reads an output of a later node; the number of nodes if there is none.
  [[nodiscard]] size_t first_too_early() const {
    for (size_t i = 0; i < reads_.size(); ++i) {
      if (std::any_of(reads_[i].begin(), reads_[i].end(), [i](size_t made) { return made > i; }))
        return i;
    }
    return reads_.size();
  }

  // The topological order; of several ready nodes the first one comes next. Has fewer nodes if
  // there is a cycle.
  [[nodiscard]] std::vector<size_t> order() const {
    std::vector<size_t> missing(reads_.size());
    std::vector<std::vector<size_t>> readers(reads_.size());
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i = 0; i < reads_.size(); ++i) {
      missing[i] = reads_[i].size();
      for (const size_t made : reads_[i]) readers[made].push_back(i);
      if (missing[i] == 0) ready.push(i);
    }
    std::vector<size_t> order;
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      for (const size_t reader : readers[order.back()]) {
        if (--missing[reader] == 0) ready.push(reader);
      }
    }
    return order;
  }

 private:
  void add(size_t reader, const std::string& name) {
    const auto maker = makers_.find(name);
    if (maker != makers_.end() && maker->second != reader) reads_[reader].push_back(maker->second);
  }

  std::unordered_map<std::string_view, size_t> makers_;  // producers of values, by name
  std::vector<std::vector<size_t>> reads_;
};

}  // namespace

void check_order(const onnx::GraphProto& graph) { OrderCheck(graph, nullptr).run(); }

std::string sort_nodes(onnx::GraphProto& graph) {
  const Dependencies dependencies(graph);
  const size_t first = dependencies.first_too_early();
  const auto count = static_cast<size_t>(graph.node_size());
  if (first == count) return {};
  const std::vector<size_t> order = dependencies.order();
  if (order.size() != count) return {};
  std::string label = label_of(graph.node(static_cast<int>(first)));
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  for (const size_t i : order) graph.add_node()->Swap(nodes.Mutable(static_cast<int>(i)));
  return label;
}

std::string label_of(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.op_type() + " \"" + node.name() + "\"";
  return node.output_size() == 0 ? node.op_type()
                                 : node.op_type() + " that makes \"" + node.output(0) + "\"";
}

}  // namespace gantry
