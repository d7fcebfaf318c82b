// SPDX-License-Identifier: Apache-2.0
// OrtKernelInfo: what a kernel of a library may ask about its node. Lives as long as the kernel.
// One thread while the kernel is made, any thread after that.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "objects/host_value.h"
#include "objects/logger.h"
#include "objects/value.h"

namespace gantry::ort {

class ApiTable;

/// An input or output of the node.
struct NodeValue {
  std::string name;  ///< empty: an optional one that is absent
  TensorType type;   ///< as far as the model tells
};

struct KernelInfo {
  using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>,
                                 std::vector<float>, std::vector<std::string>, Value>;

  /// Copies what it needs of the graph, but for constants, which are borrowed until forget_graph().
  /// Attributes of other types, as graphs, are left out.
  KernelInfo(const gantry_host* host, const gantry_graph& graph, const gantry_node& node);

  /// The value of an input that is constant, copied when it is first asked for; null: it is not
  /// constant, or was not asked for while the kernel was made.
  const Value* constant(size_t input);
  /// When the kernel is made.
  void forget_graph() { borrowed.clear(); }

  std::string name;
  std::string op_type;
  std::string domain;
  int since_version = 1;
  std::vector<NodeValue> inputs;
  std::vector<NodeValue> outputs;
  std::map<std::string, Attribute, std::less<>> attributes;
  std::map<size_t, Value> constants;               ///< by input, as far as they were asked for
  std::map<size_t, const gantry_value*> borrowed;  ///< constant inputs of the graph
  Logger logger;

  /// `Op "name"`, for messages.
  [[nodiscard]] std::string label() const { return op_type + " \"" + name + "\""; }
};

void add_kernel_info_functions(ApiTable& table);

}  // namespace gantry::ort
