// SPDX-License-Identifier: Apache-2.0
// Converts connected nodes of 16-bit floats that their provider computes in float32 to float32. A
// region is converted if it has a matmul, a convolution or the like, or more than two nodes for
// each Cast at its edges. Weights are converted once; values between the nodes are not rounded.
//
//   %y = MatMul-13(%x, %w) : float16           %x_float32 = Cast-13(%x) {to = 1}
//   %z = Relu-14(%y) : float16                 %w_float32 = Cast-13(%w) {to = 1}   folded next
//                                         =>   %y = MatMul-13(%x_float32, %w_float32) : float32
//                                              %z_float32 = Relu-14(%y) : float32
//                                              %z = Cast-13(%z_float32) {to = 10}
//
// Not converted: tables of which a Gather reads few rows, and caches that are a graph input, grow
// by a Concat and are a graph output.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "passes/pipeline.h"

namespace gantry {
namespace {

constexpr DType kWide = DType::kFloat;
constexpr int kCastVersion = 13;

// Operators that take so much longer than a Cast of their inputs that one is worth the Casts.
bool is_product(const Node& node) {
  constexpr std::array<std::string_view, 14> kNames = {
      "Attention",   "Conv",        "ConvTranspose",       "DeformConv", "Einsum",
      "GRU",         "Gemm",        "GroupQueryAttention", "LSTM",       "MatMul",
      "FusedMatMul", "MatMulNBits", "MultiHeadAttention",  "RNN"};
  return std::find(kNames.begin(), kNames.end(), node.op_type) != kNames.end();
}

// True of a Gather from a constant table.
bool reads_a_table(const Node& node) {
  return node.op_type.starts_with("Gather") && !node.inputs.empty() && node.inputs[0] &&
         node.inputs[0]->constant;
}

// Widens the values of one 16-bit type in one graph.
class Widener {
 public:
  Widener(Graph& graph, const PassContext& context, DType narrow)
      : graph_(graph), context_(context), narrow_(narrow) {}

  bool run() {
    for (const auto& node : graph_.nodes()) {
      if (takes_part(*node)) candidates_.insert(node.get());
    }
    std::vector<std::vector<Node*>> regions;
    std::unordered_set<const Node*> seen;
    for (const auto& node : graph_.nodes()) {
      if (!candidates_.contains(node.get()) || !seen.insert(node.get()).second) continue;
      regions.push_back(region_of(node.get(), seen));
    }
    bool has_changed = false;
    for (const std::vector<Node*>& region : regions) {
      if (!pays(region)) continue;
      widen(region);
      has_changed = true;
    }
    if (has_changed) graph_.sort();
    return has_changed;
  }

 private:
  [[nodiscard]] bool is_narrow(const GraphValue* value) const {
    return value && value->type.kind == Kind::kTensor && value->type.dtype == narrow_;
  }

  // True of a Concat that extends a graph input to a graph output (a cache).
  [[nodiscard]] bool lengthens_a_cache(const Node& node) const {
    if (node.op_type != "Concat" || !node.outputs[0] || !node.outputs[0]->is_output()) return false;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [](const GraphValue* value) {
      return value && !value->producer && !value->constant;
    });
  }

  // True of a Cast from other floats that another Cast reverts: the model rounds on purpose.
  [[nodiscard]] bool rounds(const Node& node) const {
    const auto is_cast = [](const Node& other) {
      return other.op_type == "Cast" || other.op_type == "CastLike";
    };
    if (!is_cast(node) || is_narrow(node.inputs[0])) return false;
    const std::vector<Node*>& users = node.outputs[0]->users;
    return std::any_of(users.begin(), users.end(), [&](const Node* user) {
      return is_cast(*user) && user->inputs[0] == node.outputs[0];
    });
  }

  [[nodiscard]] bool takes_part(const Node& node) const {
    const auto is_narrow_here = [this](const GraphValue* value) { return is_narrow(value); };
    const bool has_any = std::any_of(node.inputs.begin(), node.inputs.end(), is_narrow_here) ||
                         std::any_of(node.outputs.begin(), node.outputs.end(), is_narrow_here);
    return has_any && !reads_a_table(node) && !lengthens_a_cache(node) && !rounds(node) &&
           context_.is_computed_wider(node, narrow_);
  }

  // The candidates that are connected with this one by 16-bit values.
  std::vector<Node*> region_of(Node* first, std::unordered_set<const Node*>& seen) const {
    std::vector<Node*> region = {first};
    for (size_t next = 0; next < region.size(); ++next) {
      const auto add = [&](Node* node) {
        if (node && candidates_.contains(node) && seen.insert(node).second) region.push_back(node);
      };
      const Node* node = region[next];
      for (const GraphValue* value : node->inputs) {
        if (is_narrow(value)) add(value->producer);
      }
      for (const GraphValue* value : node->outputs) {
        if (!is_narrow(value)) continue;
        for (Node* user : value->users) add(user);
      }
    }
    return region;
  }

  [[nodiscard]] bool is_made_in(const GraphValue* value,
                                const std::unordered_set<const Node*>& inside) const {
    return value->producer && inside.contains(value->producer);
  }

  static bool leaves(const GraphValue& value, const std::unordered_set<const Node*>& inside) {
    return value.is_output() ||
           std::any_of(value.users.begin(), value.users.end(),
                       [&](const Node* user) { return !inside.contains(user); });
  }

  // Compares the nodes with the Casts that the region needs in each run; Casts of constants are
  // folded.
  [[nodiscard]] bool pays(const std::vector<Node*>& region) const {
    if (std::any_of(region.begin(), region.end(),
                    [](const Node* node) { return is_product(*node); }))
      return true;
    const std::unordered_set<const Node*> inside(region.begin(), region.end());
    std::unordered_set<const GraphValue*> cast;
    for (const Node* node : region) {
      for (const GraphValue* value : node->inputs) {
        if (is_narrow(value) && !value->constant && !is_made_in(value, inside)) cast.insert(value);
      }
      for (const GraphValue* value : node->outputs) {
        if (is_narrow(value) && leaves(*value, inside)) cast.insert(value);
      }
    }
    return region.size() > 2 * cast.size();
  }

  GraphValue* add_cast(GraphValue* from, GraphValue* to, DType dtype) {
    Node* cast = graph_.add_node("Cast", "", kCastVersion, to->name);
    cast->attributes.push_back({"to", static_cast<int64_t>(dtype)});
    graph_.add_input(cast, from);
    graph_.add_output(cast, to);
    return to;
  }

  GraphValue* add_wide(const GraphValue& like) {
    TypeInfo type = like.type;
    type.dtype = kWide;
    return graph_.add_value(like.name + "_" + std::string(to_string(kWide)), std::move(type));
  }

  // The float32 value of a value from outside, with one Cast for all regions.
  GraphValue* wide_of(GraphValue* value) {
    GraphValue*& wide = wide_[value];
    if (!wide) wide = add_cast(value, add_wide(*value), kWide);
    return wide;
  }

  void widen(const std::vector<Node*>& region) {
    const std::unordered_set<const Node*> inside(region.begin(), region.end());
    std::vector<GraphValue*> made;
    for (Node* node : region) {
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        GraphValue* value = node->inputs[i];
        if (is_narrow(value) && !is_made_in(value, inside))
          graph_.set_input(node, i, wide_of(value));
      }
      for (GraphValue* value : node->outputs) {
        if (is_narrow(value)) made.push_back(value);
      }
      for (Attribute& attribute : node->attributes) {
        auto* dtype = std::get_if<int64_t>(&attribute.value);
        const bool is_type = attribute.name == "to" || attribute.name == "output_dtype";
        if (is_type && dtype && *dtype == static_cast<int64_t>(narrow_))
          *dtype = static_cast<int64_t>(kWide);
      }
    }
    for (GraphValue* value : made) {
      if (leaves(*value, inside)) {
        part(value, inside);
      } else {
        value->type.dtype = kWide;
      }
    }
  }

  // Splits a value: outside the region it keeps its type and name, inside a float32 value replaces
  // it.
  void part(GraphValue* value, const std::unordered_set<const Node*>& inside) {
    GraphValue* wide = add_wide(*value);
    const std::vector<Node*> users = value->users;
    for (Node* user : users) {
      if (!inside.contains(user)) continue;
      for (size_t i = 0; i < user->inputs.size(); ++i) {
        if (user->inputs[i] == value) graph_.set_input(user, i, wide);
      }
    }
    Node* producer = value->producer;
    std::replace(producer->outputs.begin(), producer->outputs.end(), value, wide);
    wide->producer = producer;
    value->producer = nullptr;
    add_cast(wide, value, narrow_);
  }

  Graph& graph_;
  const PassContext& context_;
  DType narrow_;
  std::unordered_set<const Node*> candidates_;
  std::unordered_map<GraphValue*, GraphValue*> wide_;
};

}  // namespace

bool widen_floats(Graph& graph, const PassContext& context) {
  // Without it weights would be cast in each run.
  if (!context.evaluate || !context.is_computed_wider) return false;
  bool has_changed = false;
  for (const DType narrow : {DType::kFloat16, DType::kBfloat16})
    has_changed |= Widener(graph, context, narrow).run();
  return has_changed;
}

}  // namespace gantry
