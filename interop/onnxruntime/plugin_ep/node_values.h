// SPDX-License-Identifier: Apache-2.0
// The names of the values of ONNX Runtime's graphs. "" stands for what is left out.
#pragma once

#include <string>
#include <vector>

#include "plugin_ep/host_api.h"

namespace gantry::ort {

/// What a node reads and makes.
struct NodeValues {
  std::vector<std::string> inputs;
  std::vector<std::string> captured;  ///< read by its bodies
  std::vector<std::string> outputs;
};

using ValueInfos = std::vector<const host::NamedValue*>;  // null: left out

ValueInfos inputs_of(const HostApi& api, const host::Node* node);
ValueInfos captured_by(const HostApi& api, const host::Node* node);
ValueInfos outputs_of(const HostApi& api, const host::Node* node);
std::vector<const host::Node*> nodes_of(const HostApi& api, const host::Graph* graph);

std::string name_of(const HostApi& api, const host::NamedValue* info);
std::vector<std::string> names_of(const HostApi& api, const ValueInfos& values);
NodeValues values_of(const HostApi& api, const host::Node* node);

}  // namespace gantry::ort
