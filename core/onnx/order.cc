// SPDX-License-Identifier: Apache-2.0
#include "onnx/order.h"

#include <gantry/error.h>

#include <string>
#include <string_view>
#include <unordered_set>

namespace gantry {
namespace {

using Names = std::unordered_set<std::string_view>;

std::string label(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.op_type() + " \"" + node.name() + "\"";
  return node.output_size() == 0 ? node.op_type()
                                 : node.op_type() + " that makes \"" + node.output(0) + "\"";
}

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

  // Called while a node is visited, so everything that is not defined yet comes later or never.
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
                label(node) + " reads \"" + name +
                    (comes_later(name)
                         ? "\" before it is computed; the nodes are not in the order of their "
                           "computation, or form a cycle"
                         : "\", which nothing in the model defines"));
  }

  const onnx::GraphProto& graph_;
  const OrderCheck* outer_;
  Names defined_;
};

}  // namespace

void check_order(const onnx::GraphProto& graph) { OrderCheck(graph, nullptr).run(); }

}  // namespace gantry
