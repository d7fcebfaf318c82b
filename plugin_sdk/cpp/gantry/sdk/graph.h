// SPDX-License-Identifier: Apache-2.0
// Views of the graph that a claim or a compile sees: a node with its attributes and values. Each
// view is two pointers, borrows from the call that made it, and never outlives it.
#pragma once

#include <gantry/sdk/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::sdk {

/// What is known of a value before the run. `present()` is false for an absent optional input or
/// output.
class ValueView {
 public:
  ValueView(const gantry_host* host, const gantry_value_info* info) : host_(host), info_(info) {}

  [[nodiscard]] bool present() const { return info_ != nullptr; }
  [[nodiscard]] std::string_view name() const {
    return info_ ? to_view(info_->name) : std::string_view();
  }
  [[nodiscard]] gantry_kind kind() const {
    return info_ ? static_cast<gantry_kind>(info_->kind) : GANTRY_KIND_UNKNOWN;
  }
  /// Element type; GANTRY_UNDEFINED if absent or unknown.
  [[nodiscard]] gantry_dtype dtype() const {
    return info_ ? static_cast<gantry_dtype>(info_->dtype) : GANTRY_UNDEFINED;
  }
  /// Rank, or -1 if absent or unknown.
  [[nodiscard]] int rank() const { return info_ ? info_->rank : -1; }
  /// Extent of an axis, -1 if it is not known before the run. Requires 0 <= axis < rank().
  [[nodiscard]] int64_t extent(int axis) const { return info_->shape[axis]; }
  /// Name of an extent that is not known before the run: equal names mean equal extents. Empty: the
  /// extent has no name. Requires 0 <= axis < rank().
  [[nodiscard]] std::string_view symbol(int axis) const {
    return info_->symbols ? to_view(info_->symbols[axis]) : std::string_view();
  }
  [[nodiscard]] bool is_constant() const { return info_ && info_->constant; }
  /// The constant's tensor, or null if the value is no constant or no tensor. Data may start at any
  /// byte.
  [[nodiscard]] const gantry_tensor* constant() const {
    return is_constant() ? host_->value_tensor(info_->constant) : nullptr;
  }
  [[nodiscard]] const gantry_value* constant_value() const {
    return info_ ? info_->constant : nullptr;
  }

 private:
  const gantry_host* host_;
  const gantry_value_info* info_;
};

/// A node. Attribute getters return the fallback when the attribute is absent and throw
/// INVALID_MODEL when its type differs.
class NodeView {
 public:
  NodeView(const gantry_host* host, const gantry_graph* graph, const gantry_node* node)
      : host_(host), graph_(graph), node_(node) {}

  [[nodiscard]] std::string_view name() const { return to_view(node_->name); }
  [[nodiscard]] std::string_view op_type() const { return to_view(node_->op_type); }
  [[nodiscard]] std::string_view domain() const { return to_view(node_->domain); }
  [[nodiscard]] int since_version() const { return node_->since_version; }

  [[nodiscard]] int input_count() const { return static_cast<int>(node_->input_count); }
  [[nodiscard]] int output_count() const { return static_cast<int>(node_->output_count); }
  /// Input or output `index`; absent if the node lists fewer.
  [[nodiscard]] ValueView input(int index) const {
    return value(node_->inputs, node_->input_count, index);
  }
  [[nodiscard]] ValueView output(int index) const {
    return value(node_->outputs, node_->output_count, index);
  }

  [[nodiscard]] bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  [[nodiscard]] int64_t get_int(std::string_view attribute, int64_t fallback) const {
    const auto* a = typed(attribute, GANTRY_ATTRIBUTE_INT);
    return a ? a->ints[0] : fallback;
  }
  [[nodiscard]] float get_float(std::string_view attribute, float fallback) const {
    const auto* a = typed(attribute, GANTRY_ATTRIBUTE_FLOAT);
    return a ? a->floats[0] : fallback;
  }
  [[nodiscard]] std::string get_string(std::string_view attribute,
                                       std::string_view fallback) const {
    const auto* a = typed(attribute, GANTRY_ATTRIBUTE_STRING);
    return std::string(a ? to_view(a->strings[0]) : fallback);
  }
  [[nodiscard]] std::vector<int64_t> get_ints(std::string_view attribute,
                                              std::vector<int64_t> fallback = {}) const {
    const auto* a = typed(attribute, GANTRY_ATTRIBUTE_INTS);
    if (a) return {a->ints, a->ints + a->count};
    return fallback;
  }
  [[nodiscard]] std::vector<float> get_floats(std::string_view attribute) const {
    const auto* a = typed(attribute, GANTRY_ATTRIBUTE_FLOATS);
    return a ? std::vector<float>(a->floats, a->floats + a->count) : std::vector<float>();
  }
  [[nodiscard]] std::vector<std::string> get_strings(std::string_view attribute) const {
    std::vector<std::string> result;
    if (const auto* a = typed(attribute, GANTRY_ATTRIBUTE_STRINGS)) {
      for (uint64_t i = 0; i < a->count; ++i) result.emplace_back(to_view(a->strings[i]));
    }
    return result;
  }
  /// Tensor attribute as a value (read it with the host's value functions), or null.
  [[nodiscard]] const gantry_value* get_tensor(std::string_view attribute) const {
    const auto* a = typed(attribute, GANTRY_ATTRIBUTE_TENSOR);
    return a ? a->tensors[0] : nullptr;
  }

  [[nodiscard]] const gantry_host* host() const { return host_; }

  /// Fails with this node as the subject: `Conv "c3": <what>`.
  [[noreturn]] void fail(gantry_code code, const std::string& what) const {
    throw Error(code, label() + ": " + what);
  }
  [[nodiscard]] std::string label() const {
    return std::string(op_type()) + " \"" + std::string(name()) + "\"";
  }

 private:
  [[nodiscard]] ValueView value(const uint32_t* ids, uint32_t count, int index) const {
    const bool absent =
        index < 0 || static_cast<uint32_t>(index) >= count || ids[index] == GANTRY_NONE;
    return {host_, absent ? nullptr : graph_->values[ids[index]]};
  }
  [[nodiscard]] const gantry_attribute* find(std::string_view name) const {
    for (uint32_t i = 0; i < node_->attribute_count; ++i) {
      if (to_view(node_->attributes[i]->name) == name) return node_->attributes[i];
    }
    return nullptr;
  }
  [[nodiscard]] const gantry_attribute* typed(std::string_view name,
                                              gantry_attribute_type type) const {
    const auto* a = find(name);
    if (a && a->type != static_cast<uint32_t>(type)) {
      fail(GANTRY_INVALID_MODEL, "attribute \"" + std::string(name) + "\" has type " +
                                     std::to_string(a->type) + ", expected ONNX attribute type " +
                                     std::to_string(type));
    }
    return a;
  }

  const gantry_host* host_;
  const gantry_graph* graph_;
  const gantry_node* node_;
};

}  // namespace gantry::sdk
