// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

TypeInfo type_of_value(const gantry_value& value) {
  TypeInfo type;
  type.kind = static_cast<Kind>(value.kind);
  type.dtype = value.dtype;
  if (type.kind == Kind::kTensor) {
    type.has_rank = true;
    type.shape = value.shape;
    type.symbols.resize(value.shape.size());
  }
  return type;
}

void remove_use(GraphValue* value, const Node* node) {
  auto use = std::find(value->users.begin(), value->users.end(), node);
  if (use != value->users.end()) value->users.erase(use);
}

}  // namespace

const Attribute* Node::find(std::string_view attribute) const {
  for (const Attribute& candidate : attributes) {
    if (candidate.name == attribute) return &candidate;
  }
  return nullptr;
}

std::vector<Graph*> Node::bodies() const {
  std::vector<Graph*> found;
  for (const Attribute& attribute : attributes) {
    if (const auto* body = std::get_if<std::unique_ptr<Graph>>(&attribute.value)) {
      found.push_back(body->get());
    } else if (const auto* list =
                   std::get_if<std::vector<std::unique_ptr<Graph>>>(&attribute.value)) {
      for (const auto& item : *list) found.push_back(item.get());
    }
  }
  return found;
}

std::string Node::label() const {
  return (domain.empty() ? op_type : domain + "::" + op_type) + " \"" + name + "\"";
}

std::string Graph::unique_name(std::string wanted, const char* what) {
  const std::string key = what + wanted;
  const auto [entry, is_new] = names_.try_emplace(key, 1);
  if (is_new) return wanted;
  uint32_t& next = entry->second;  // the reference stays valid when entries are added
  for (;;) {
    std::string suffix = "_" + std::to_string(next++);
    if (names_.try_emplace(key + suffix, 1).second) return wanted + suffix;
  }
}

GraphValue* Graph::add_value(std::string value_name, TypeInfo type) {
  auto value = std::make_unique<GraphValue>();
  value->id = static_cast<uint32_t>(values_.size());
  value->name = unique_name(value_name.empty() ? "value" : std::move(value_name), "v:");
  value->type = std::move(type);
  values_.push_back(std::move(value));
  return values_.back().get();
}

GraphValue* Graph::add_constant(std::string value_name, ValueRef constant) {
  GraphValue* value = add_value(std::move(value_name), type_of_value(*constant));
  value->constant = std::move(constant);
  return value;
}

Node* Graph::add_node(std::string op_type, std::string domain, int since_version,
                      std::string node_name) {
  auto node = std::make_unique<Node>();
  node->id = static_cast<uint32_t>(nodes_.size());
  node->name = unique_name(node_name.empty() ? op_type : std::move(node_name), "n:");
  node->op_type = std::move(op_type);
  node->domain = std::move(domain);
  node->since_version = since_version;
  node->graph = this;
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

void Graph::set_outputs(std::vector<GraphValue*> values) {
  for (GraphValue* value : outputs_) {
    if (value) --value->times_listed;
  }
  outputs_ = std::move(values);
  for (GraphValue* value : outputs_) {
    if (value) ++value->times_listed;
  }
}

void Graph::add_input(Node* node, GraphValue* value) {
  node->inputs.push_back(value);
  if (value) value->users.push_back(node);
}

void Graph::set_input(Node* node, size_t index, GraphValue* value) {
  remove_use(node->inputs[index], node);
  node->inputs[index] = value;
  value->users.push_back(node);
}

void Graph::add_capture(Node* node, GraphValue* value) {
  node->captures.push_back(value);
  value->users.push_back(node);
}

void Graph::add_output(Node* node, GraphValue* value) {
  node->outputs.push_back(value);
  if (value) value->producer = node;
}

void Graph::replace_uses(GraphValue* from, GraphValue* to) {
  if (from == to) return;
  for (Node* user : from->users) {
    std::replace(user->inputs.begin(), user->inputs.end(), from, to);
    std::replace(user->captures.begin(), user->captures.end(), from, to);
  }
  to->users.insert(to->users.end(), from->users.begin(), from->users.end());
  from->users.clear();
  if (from->times_listed == 0) return;
  std::replace(outputs_.begin(), outputs_.end(), from, to);
  to->times_listed += std::exchange(from->times_listed, 0);
}

void Graph::drop_capture(Node* node, size_t index) {
  const auto offset = static_cast<std::ptrdiff_t>(index);
  remove_use(node->captures[index], node);
  node->captures.erase(node->captures.begin() + offset);
  for (Graph* body : node->bodies()) body->captures.erase(body->captures.begin() + offset);
}

void Graph::remove_node(Node* node) {
  for (GraphValue* value : node->inputs) {
    if (value) remove_use(value, node);
  }
  for (GraphValue* value : node->captures) remove_use(value, node);
  for (GraphValue* value : node->outputs) {
    if (value) value->producer = nullptr;
  }
  node->inputs.clear();
  node->captures.clear();
  node->outputs.clear();
  node->graph = nullptr;
}

void Graph::sweep() {
  std::erase_if(nodes_, [](const std::unique_ptr<Node>& node) { return node->graph == nullptr; });
  renumber();
  std::vector<bool> listed(values_.size(), false);
  for (const auto* list : {&inputs, &captures}) {
    for (const GraphValue* value : *list) {
      if (value) listed[value->id] = true;
    }
  }
  std::erase_if(values_, [&](const std::unique_ptr<GraphValue>& value) {
    return !value->producer && !value->is_read() && !listed[value->id];
  });
  renumber();
}

void Graph::sort() {
  enum : char { kNew, kOpen, kDone };
  renumber();
  std::vector<char> state(nodes_.size(), kNew);
  std::vector<uint32_t> order;
  order.reserve(nodes_.size());
  struct Frame {
    const Node* node;
    size_t next;  // position in its inputs and then its captures
  };
  std::vector<Frame> stack;
  for (const auto& root : nodes_) {
    if (state[root->id] == kNew) stack.push_back({root.get(), 0});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Node* node = frame.node;
      state[node->id] = kOpen;
      const Node* before = nullptr;
      while (!before && frame.next < node->inputs.size() + node->captures.size()) {
        const size_t i = frame.next++;
        const GraphValue* value =
            i < node->inputs.size() ? node->inputs[i] : node->captures[i - node->inputs.size()];
        if (!value || !value->producer || state[value->producer->id] == kDone) continue;
        before = value->producer;
      }
      if (!before) {
        state[node->id] = kDone;
        order.push_back(node->id);
        stack.pop_back();
      } else if (state[before->id] == kOpen) {
        throw Error(Code::kInternal,
                    "graph \"" + name + "\" has a cycle through " + before->label());
      } else {
        stack.push_back({before, 0});
      }
    }
  }
  std::vector<std::unique_ptr<Node>> sorted;
  sorted.reserve(nodes_.size());
  for (const uint32_t id : order) sorted.push_back(std::move(nodes_[id]));
  nodes_ = std::move(sorted);
  renumber();
}

void Graph::renumber() {
  for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->id = static_cast<uint32_t>(i);
  for (size_t i = 0; i < values_.size(); ++i) values_[i]->id = static_cast<uint32_t>(i);
}

}  // namespace gantry
