// SPDX-License-Identifier: Apache-2.0
// MatMul nodes that read one left factor, with matrices that are constant, and what adds a bias to
// them: queries, keys and values, or the two halves of a gated layer.
#include "../product_group.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "product_call.h"

namespace gantry::cuda {
namespace {

static_assert(kMostGrouped <= MOST_PRODUCTS);

constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);

// Slots of one product.
struct Member {
  int a = -1, b = -1;
  int bias = -1;  // none
  int output = 0;
};

class ProductGroup final : public Operation {
 public:
  explicit ProductGroup(std::vector<Member> members) : members_(std::move(members)) {}

  void plan(Planner& planner) const override {
    std::deque<ProductParameters> parameters;  // calls refer to them
    const Walk walk{{1}, {{0}, {0}}};
    std::vector<ProductCall> calls;
    for (const Member& member : members_) {
      const InputFacts& a = planner.input(member.a);
      const Extents& b = planner.shape(member.b);
      if (a.rank() < 2 || b.size() != 2 || a.shape.back() != b[0]) {
        throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                         "a matrix of the shape " + text_of(b) + " does not fit " +
                             text_of(a.shape) + ", expected as many rows as that has columns");
      }
      Extents shape = a.shape;
      shape.back() = b[1];
      ProductParameters& p = parameters.emplace_back();
      p.m = count_of(shape, 0, shape.size() - 1);
      p.n = b[1];
      p.k = b[0];
      p.a_row = p.k;
      p.a_column = p.b_column = 1;
      p.b_row = p.n;
      p.alpha = 1;
      const Buffer y = planner.output(member.output, a.dtype, shape);
      if (count_of(shape) == 0) continue;
      calls.push_back(
          {p, walk, a.dtype, y, Planner::in(member.a), Planner::in(member.b), {}, {}, {}, {}, {}});
      if (member.bias >= 0) add_bias(p, calls.back(), member.bias);
      if (p.k > 0) calls.back().blas = blas_shape(planner, a.dtype, p, member.bias >= 0);
    }
    if (!calls.empty()) plan_products(planner, calls);
  }

 private:
  static void add_bias(ProductParameters& p, ProductCall& call, int slot) {
    p.c_column = 1;
    p.beta = 1;
    call.bias = Planner::in(slot);
    call.more.emplace_back(&p.c, Planner::in(slot));
  }

  static ProductShape blas_shape(const Planner& planner, uint32_t dtype, const ProductParameters& p,
                                 bool has_bias) {
    ProductShape shape;
    shape.dtype = dtype;
    shape.m = p.m;
    shape.n = p.n;
    shape.k = p.k;
    shape.has_bias = has_bias;
    shape.rounds_to_tf32 = planner.rounds_to_tf32();
    return shape;
  }

  std::vector<Member> members_;
};

// Where the slot `position` of a node is among those of a set.
int slot_of(const std::vector<sdk::InputSlot>& slots, uint32_t node, uint32_t position) {
  const auto found = std::find_if(slots.begin(), slots.end(), [&](const sdk::InputSlot& slot) {
    return slot.node == node && slot.position == position;
  });
  return static_cast<int>(found - slots.begin());
}

}  // namespace

bool may_be_grouped(const sdk::GraphIndex& index, const ProductChain& chain) {
  if (chain.nodes.empty() || chain.nodes.size() > 2) return false;
  const sdk::NodeView node = index.node(chain.nodes.front());
  const sdk::ValueView a = node.input(0);
  const sdk::ValueView b = node.input(1);
  if (node.op_type() != "MatMul" || !node.domain().empty() || a.rank() < 2 || a.is_constant() ||
      b.rank() != 2 || !b.is_constant() || b.dtype() != a.dtype() ||
      (sdk::dtype_bit(a.dtype()) & kTypes) == 0)
    return false;
  if (chain.nodes.size() == 1) return true;
  const gantry_node& added = index.raw(chain.nodes[1]);
  const uint32_t product = index.raw(chain.nodes[0]).outputs[0];
  return epilogue_of(index, chain.nodes).has_bias &&
         index.value(added.inputs[added.inputs[0] == product ? 1 : 0]).is_constant();
}

std::vector<std::vector<uint32_t>> product_groups(const sdk::GraphIndex& index,
                                                  const std::vector<ProductChain>& products) {
  std::map<uint32_t, std::vector<const ProductChain*>> by_factor;
  std::vector<std::vector<uint32_t>> groups;
  const auto end = [&](std::vector<const ProductChain*>& chains) {
    if (chains.size() > 1) {
      std::vector<uint32_t>& nodes = groups.emplace_back();
      for (const ProductChain* chain : chains)
        nodes.insert(nodes.end(), chain->nodes.begin(), chain->nodes.end());
      std::sort(nodes.begin(), nodes.end());
    }
    chains.clear();
  };
  for (const ProductChain& product : products) {
    auto& chains = by_factor[index.raw(product.nodes.front()).inputs[0]];
    chains.push_back(&product);
    if (chains.size() == kMostGrouped) end(chains);
  }
  for (auto& [factor, chains] : by_factor) end(chains);
  return groups;
}

std::unique_ptr<Operation> make_product_group(const sdk::GraphIndex& index,
                                              const std::vector<uint32_t>& nodes) {
  const std::vector<sdk::InputSlot> slots = index.input_slots(nodes);
  const std::vector<uint32_t> outputs = index.output_slots(nodes);
  std::vector<bool> may_take(index.graph().node_count, false);
  for (const uint32_t node : nodes) may_take[node] = true;
  std::vector<Member> members;
  for (const uint32_t node : nodes) {
    const ProductChain chain = product_chain(index, node, may_take);
    if (chain.nodes.empty()) continue;
    Member& member = members.emplace_back();
    member.a = slot_of(slots, node, 0);
    member.b = slot_of(slots, node, 1);
    if (chain.nodes.size() > 1) {
      const uint32_t product = index.raw(node).outputs[0];
      member.bias =
          slot_of(slots, chain.nodes[1], index.raw(chain.nodes[1]).inputs[0] == product ? 1 : 0);
    }
    const uint32_t made = index.raw(chain.nodes.back()).outputs[0];
    member.output =
        static_cast<int>(std::find(outputs.begin(), outputs.end(), made) - outputs.begin());
  }
  return std::make_unique<ProductGroup>(std::move(members));
}

}  // namespace gantry::cuda
