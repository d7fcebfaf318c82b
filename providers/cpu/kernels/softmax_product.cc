// SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax_product.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include "dispatch.h"
#include "kernels/blas.h"
#include "kernels/matrix_batches.h"
#include "kernels/softmax_math.h"
#include "kernels/softmax_pattern.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

using SmallFloats = TypeList<Float16, BFloat16>;
using ScoreTypes = TypeList<float, Float16, BFloat16>;

/// Rows of scores that are held at a time, and columns of the result that are worth a part.
constexpr int64_t kScoreRows = 64;
constexpr int64_t kLeastColumns = 128;

/// The rows of scores that count as 0 after the Softmax.
class HiddenRows {
 public:
  HiddenRows() = default;
  /// `condition`: as SoftmaxProduct::hidden says, for `scores` of rank 1 or more.
  HiddenRows(const gantry_tensor& condition, sdk::Shape scores)
      : data_(static_cast<const Boolean*>(condition.data)),
        extents_(sdk::Shape(scores.data, scores.rank - 1)),
        strides_(scores.rank - 1, 0) {
    const sdk::Shape own(condition);
    const Dims dense = dense_strides(own);
    for (int axis = 0; axis + 1 < own.rank; ++axis) {
      if (own[axis] != 1) strides_[axis + scores.rank - own.rank] = dense[axis];
    }
  }
  /// `row`: counted through all leading axes of the scores.
  [[nodiscard]] bool contains(int64_t row) const {
    if (!data_) return false;
    int64_t place = 0;
    for (int axis = extents_.rank() - 1; axis >= 0; --axis) {
      place += row % extents_[axis] * strides_[axis];
      row /= extents_[axis];
    }
    return static_cast<bool>(data_[place]);
  }

 private:
  const Boolean* data_ = nullptr;
  Dims extents_;
  Dims strides_;
};

/// A product of one size many times, in blocks of rows and columns of each.
struct Blocks {
  int64_t products;  ///< of [m, k] by [k, n]
  int64_t m;
  int64_t k;
  int64_t n;
  int64_t rows;     ///< of a block
  int64_t columns;  ///< of a block

  [[nodiscard]] int64_t down() const { return (m + rows - 1) / rows; }
  [[nodiscard]] int64_t across() const { return (n + columns - 1) / columns; }
  [[nodiscard]] int64_t count() const { return products * down() * across(); }
  /// Elements that a thread holds: scores, a matrix of the factor, results.
  [[nodiscard]] int64_t scratch() const { return rows * k + k * columns + rows * columns; }
};

Blocks blocks_of(const MatrixBatches& all, int threads) {
  Blocks blocks = {all.count(), all.m, all.k, all.n, kScoreRows, all.n};
  if (all.is_one_product()) {
    blocks.m *= blocks.products;
    blocks.products = 1;
  }
  blocks.rows = std::min(blocks.rows, blocks.m);
  // Where there are not enough rows for all threads each takes columns, and the Softmax again.
  const int64_t units = blocks.products * blocks.down();
  if (units < threads) {
    const int64_t parts = std::clamp<int64_t>(blocks.n / kLeastColumns, 1, threads / units);
    blocks.columns = (blocks.n + parts - 1) / parts;
  }
  return blocks;
}

class SoftmaxProductKernel final : public NodeKernel {
 public:
  /// Input slots of the set; `hidden` is below 0 if there is none.
  struct Slots {
    int scores;
    int hidden;
    int factor;
  };
  SoftmaxProductKernel(const sdk::NodeView& matmul, Slots slots)
      : NodeKernel(matmul), slots_(slots) {}

  void run(sdk::Call& call) const override {
    const gantry_tensor& factor = call.input(slots_.factor);
    const MatrixBatches all(call.shape(slots_.scores), sdk::Shape(factor), label());
    const bool is_empty = count_of(all.shape()) == 0;
    gantry_tensor& output = call.output(0, factor.dtype, all.shape());
    if (is_empty) return;
    check_product(all.m, all.n, all.k, label());
    dispatch<ScoreTypes>(call.input(slots_.scores).dtype, [&](auto score) {
      dispatch<SmallFloats>(factor.dtype, [&](auto type) {
        compute<typename decltype(score)::type, typename decltype(type)::type>(call, all, output);
      });
    });
  }

 private:
  /// S: of the scores; T: of the factor and the result.
  template <class S, class T>
  struct Operands {
    const S* scores;
    const T* factor;
    T* result;
    HiddenRows hidden;
  };
  /// What one thread holds in f32.
  struct Held {
    float* scores;                 ///< [rows, k]
    float* factor;                 ///< [k, columns]
    float* result;                 ///< [rows, columns]
    const void* source = nullptr;  ///< where `factor` was read
  };

  template <class S, class T>
  void compute(sdk::Call& call, const MatrixBatches& all, gantry_tensor& output) const {
    Operands<S, T> operands = {
        call.data<S>(slots_.scores), call.data<T>(slots_.factor), static_cast<T*>(output.data), {}};
    if (slots_.hidden >= 0)
      operands.hidden = HiddenRows(call.input(slots_.hidden), call.shape(slots_.scores));
    const Blocks blocks = blocks_of(all, call.thread_count());
    const int64_t work = blocks.rows * blocks.columns * std::max<int64_t>(blocks.k, 1);
    const int64_t grain = std::max<int64_t>(1, kProductGrain / work);
    const int64_t parts = std::clamp<int64_t>(blocks.count() / grain, 1, call.thread_count());
    auto* memory = call.scratch<float>(parts * blocks.scratch());
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        float* own = memory + part * blocks.scratch();
        Held held = {own, own + blocks.rows * blocks.k,
                     own + (blocks.rows + blocks.columns) * blocks.k};
        const int64_t last = blocks.count() * (part + 1) / parts;
        for (int64_t i = blocks.count() * part / parts; i < last; ++i)
          multiply_block(operands, all, blocks, i, held);
      }
    });
  }

  /// Block `i`: those of a product stand together, and of these those of the same columns.
  template <class S, class T>
  static void multiply_block(const Operands<S, T>& operands, const MatrixBatches& all,
                             const Blocks& blocks, int64_t i, Held& held) {
    const int64_t product = i / (blocks.down() * blocks.across());
    const int64_t row = i % blocks.down() * blocks.rows;
    const int64_t column = i / blocks.down() % blocks.across() * blocks.columns;
    const int64_t rows = std::min(blocks.rows, blocks.m - row);
    const int64_t columns = std::min(blocks.columns, blocks.n - column);
    all.for_each(product, product + 1, [&](int64_t, int64_t ia, int64_t ib) {
      read_factor(operands.factor + ib * blocks.k * blocks.n + column, blocks, columns, held);
      read_weights(operands, blocks.k, ia * blocks.m + row, rows, held);
    });
    multiply_serial(dense_product(rows, columns, blocks.k, held.scores, held.factor, held.result));
    T* result = operands.result + (product * blocks.m + row) * blocks.n + column;
    for (int64_t r = 0; r < rows; ++r)
      narrow<T>(held.result + r * columns, result + r * blocks.n, columns);
  }

  template <class T>
  static void read_factor(const T* source, const Blocks& blocks, int64_t columns, Held& held) {
    if (held.source == source) return;
    held.source = source;
    if (columns == blocks.n) return widen<T>(source, held.factor, blocks.k * columns);
    for (int64_t r = 0; r < blocks.k; ++r)
      widen<T>(source + r * blocks.n, held.factor + r * columns, columns);
  }

  /// The Softmax of rows [first, first + rows) of all scores.
  template <class S, class T>
  static void read_weights(const Operands<S, T>& operands, int64_t k, int64_t first, int64_t rows,
                           Held& held) {
    if constexpr (std::is_same_v<S, float>) {
      softmax_every_row(operands.scores + first * k, held.scores, k, rows);
    } else {
      widen<S>(operands.scores + first * k, held.scores, rows * k);
      softmax_every_row(held.scores, held.scores, k, rows);
    }
    for (int64_t r = 0; r < rows; ++r) {
      if (operands.hidden.contains(first + r)) std::fill_n(held.scores + r * k, k, 0.0F);
    }
  }

  Slots slots_;
};

/// Of all nodes of the set, one after the other; negative: not known.
double estimated_ns(const sdk::Provider& provider, const sdk::GraphIndex& index,
                    const std::vector<uint32_t>& nodes, uint32_t device) {
  double sum = 0;
  for (const uint32_t node : nodes) {
    const double own = provider.estimated_ns(index.node(node), device);
    if (own < 0) return -1;
    sum += own;
  }
  return sum;
}

bool has_softmax(const sdk::Provider& provider, const gantry_graph& graph) {
  for (uint32_t i = 0; i < graph.node_count; ++i) {
    if (sdk::NodeView(provider.host(), &graph, graph.nodes[i]).op_type() == "Softmax") return true;
  }
  return false;
}

}  // namespace

void claim_softmax_products(const sdk::Provider& provider, const gantry_claim_request& request,
                            uint64_t tag) {
  if (!has_softmax(provider, *request.graph)) return;
  const sdk::GraphIndex index(provider.host(), *request.graph);
  for (uint32_t node = 0; node < request.graph->node_count; ++node) {
    const std::optional<SoftmaxProduct> found =
        softmax_product_of(index, node, [](uint32_t) { return true; });
    if (!found) continue;
    gantry_claim claim = {};
    claim.size = sizeof(claim);
    claim.nodes = found->nodes.data();
    claim.node_count = static_cast<uint32_t>(found->nodes.size());
    claim.time_ns = estimated_ns(provider, index, found->nodes, request.device);
    claim.kernel = sdk::to_str("Softmax+MatMul");
    claim.tag = tag;
    request.sink->claim(request.sink->self, &claim);
  }
}

std::unique_ptr<sdk::Kernel> make_softmax_product(const gantry_host* host,
                                                  const gantry_compile& args) {
  std::vector<uint32_t> nodes(args.nodes, args.nodes + args.node_count);
  std::sort(nodes.begin(), nodes.end());
  const sdk::GraphIndex index(host, *args.graph, nodes);
  const auto is_among = [&](uint32_t node) {
    return std::binary_search(nodes.begin(), nodes.end(), node);
  };
  const auto slot_of = [&](uint32_t value) {
    const auto* found = std::find(args.inputs, args.inputs + args.input_count, value);
    return static_cast<int>(found - args.inputs);
  };
  for (const uint32_t node : nodes) {
    const std::optional<SoftmaxProduct> found = softmax_product_of(index, node, is_among);
    if (!found || found->nodes != nodes) continue;
    const int hidden = found->hidden == GANTRY_NONE ? -1 : slot_of(found->hidden);
    return std::make_unique<SoftmaxProductKernel>(
        index.node(found->matmul),
        SoftmaxProductKernel::Slots{slot_of(found->scores), hidden, slot_of(found->factor)});
  }
  throw sdk::Error(GANTRY_INTERNAL,
                   "cpu: the nodes of a claim are no Softmax and product any more");
}

}  // namespace gantry::cpu
