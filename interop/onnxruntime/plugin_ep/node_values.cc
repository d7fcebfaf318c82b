// SPDX-License-Identifier: Apache-2.0
#include "plugin_ep/node_values.h"

namespace gantry::ort {

ValueInfos inputs_of(const HostApi& api, const host::Node* node) {
  return api.list<host::NamedValue>(Slot::kNodeGetNumInputs, Slot::kNodeGetInputs, node);
}

ValueInfos captured_by(const HostApi& api, const host::Node* node) {
  return api.list<host::NamedValue>(Slot::kNodeGetNumImplicitInputs, Slot::kNodeGetImplicitInputs,
                                    node);
}

ValueInfos outputs_of(const HostApi& api, const host::Node* node) {
  return api.list<host::NamedValue>(Slot::kNodeGetNumOutputs, Slot::kNodeGetOutputs, node);
}

std::vector<const host::Node*> nodes_of(const HostApi& api, const host::Graph* graph) {
  return api.list<host::Node>(Slot::kGraphGetNumNodes, Slot::kGraphGetNodes, graph);
}

std::string name_of(const HostApi& api, const host::NamedValue* info) {
  return info ? api.text(Slot::kGetValueInfoName, info) : "";
}

std::vector<std::string> names_of(const HostApi& api, const ValueInfos& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const host::NamedValue* value : values) names.push_back(name_of(api, value));
  return names;
}

NodeValues values_of(const HostApi& api, const host::Node* node) {
  return {names_of(api, inputs_of(api, node)), names_of(api, captured_by(api, node)),
          names_of(api, outputs_of(api, node))};
}

}  // namespace gantry::ort
