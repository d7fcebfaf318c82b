// SPDX-License-Identifier: Apache-2.0
// MatMul nodes that read one left factor, with matrices that are constant: queries, keys and
// values, or the two halves of a gated layer.
#include "../product_group.h"

#include <deque>
#include <map>

#include "product_call.h"

namespace gantry::cuda {
namespace {

static_assert(kMostGrouped <= MOST_PRODUCTS);

constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);

// Input slots are the left factor and the matrix of each node in turn.
class ProductGroup final : public Operation {
 public:
  explicit ProductGroup(int count) : count_(count) {}

  void plan(Planner& planner) const override {
    std::deque<ProductParameters> parameters;  // calls refer to them
    const Walk walk{{1}, {{0}, {0}}};
    std::vector<ProductCall> calls;
    for (int i = 0; i < count_; ++i) {
      const InputFacts& a = planner.input(2 * i);
      const Extents& b = planner.shape(2 * i + 1);
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
      const Buffer y = planner.output(i, a.dtype, shape);
      if (count_of(shape) == 0) continue;
      calls.push_back(
          {p, walk, a.dtype, y, Planner::in(2 * i), Planner::in(2 * i + 1), {}, false, {}, {}, {}});
      if (p.k > 0) calls.back().blas = blas_shape(planner, a.dtype, p);
    }
    if (!calls.empty()) plan_products(planner, calls);
  }

 private:
  static ProductShape blas_shape(const Planner& planner, uint32_t dtype,
                                 const ProductParameters& p) {
    ProductShape shape;
    shape.dtype = dtype;
    shape.m = p.m;
    shape.n = p.n;
    shape.k = p.k;
    shape.rounds_to_tf32 = planner.rounds_to_tf32();
    return shape;
  }

  int count_;
};

}  // namespace

bool may_be_grouped(const sdk::NodeView& node) {
  const sdk::ValueView a = node.input(0);
  const sdk::ValueView b = node.input(1);
  return node.op_type() == "MatMul" && node.domain().empty() && a.rank() >= 2 && !a.is_constant() &&
         b.rank() == 2 && b.is_constant() && b.dtype() == a.dtype() &&
         (sdk::dtype_bit(a.dtype()) & kTypes) != 0;
}

std::vector<std::vector<uint32_t>> product_groups(const sdk::GraphIndex& index,
                                                  const std::vector<uint32_t>& products) {
  std::map<uint32_t, std::vector<uint32_t>> by_factor;
  std::vector<std::vector<uint32_t>> groups;
  const auto end = [&](std::vector<uint32_t>& nodes) {
    if (nodes.size() > 1) groups.push_back(nodes);
    nodes.clear();
  };
  for (const uint32_t node : products) {
    std::vector<uint32_t>& nodes = by_factor[index.raw(node).inputs[0]];
    nodes.push_back(node);
    if (nodes.size() == kMostGrouped) end(nodes);
  }
  for (auto& [factor, nodes] : by_factor) end(nodes);
  return groups;
}

std::unique_ptr<Operation> make_product_group(size_t count) {
  return std::make_unique<ProductGroup>(static_cast<int>(count));
}

}  // namespace gantry::cuda
