// SPDX-License-Identifier: Apache-2.0
// Einsum: contracts its inputs one after the other. A contraction over labels that both operands
// have is a batched matmul; any other is a kernel over the ranges of the labels. Intermediate
// results are rounded to the type of the inputs.
#include "kernels/linear_algebra/einsum.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compile/kernel_texts.h"
#include "operators/linear_algebra/batched_matmul.h"
#include "operators/linear_algebra/einsum_terms.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

// A tensor in memory, with a stride for each label.
struct View {
  std::string labels;
  Extents strides;
  Buffer buffer;

  [[nodiscard]] bool has(char label) const { return labels.find(label) != std::string::npos; }
  [[nodiscard]] int64_t stride(char label) const {
    return has(label) ? strides[labels.find(label)] : 0;
  }
  [[nodiscard]] Extents strides_of(const std::string& order) const {
    Extents result;
    for (const char label : order) result.push_back(stride(label));
    return result;
  }
};

template <class Keep>
std::string filtered(const std::string& labels, const Keep& keep) {
  std::string result;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(result), keep);
  return result;
}

// Plans the contractions of a node for one set of shapes.
class Contraction {
 public:
  Contraction(Planner& planner, EinsumTerms terms) : planner_(planner), terms_(std::move(terms)) {
    dtype_ = planner.input(0).dtype;
    for (size_t slot = 0; slot < terms_.inputs.size(); ++slot) measure(slot);
  }

  void run() {
    const Buffer y = planner_.output(0, dtype_, extents_of(terms_.output));
    if (count_of(extents_of(terms_.output)) == 0) return;
    View result = view_of(0);
    if (terms_.inputs.size() == 1) return sum_or_copy(result, y);
    for (size_t slot = 1; slot < terms_.inputs.size(); ++slot) {
      const auto is_needed = [&](char label) {
        bool is_found = terms_.output.find(label) != std::string::npos;
        for (size_t later = slot + 1; later < terms_.inputs.size(); ++later)
          is_found |= terms_.inputs[later].find(label) != std::string::npos;
        return is_found;
      };
      View next = view_of(slot);
      next = summed(next, [&](char label) { return is_needed(label) || result.has(label); });
      result = summed(result, [&](char label) { return is_needed(label) || next.has(label); });
      if (slot + 1 == terms_.inputs.size()) {
        contract(result, next, terms_.output, y);
        return;
      }
      // In the order of a matmul's result.
      const auto is_shared = [&](char label) { return result.has(label) && next.has(label); };
      const auto is_alone = [&](char label) { return is_needed(label) && !is_shared(label); };
      const std::string kept = filtered(filtered(result.labels, is_shared), is_needed) +
                               filtered(result.labels + next.labels, is_alone);
      const View made = scratch_view(kept);
      contract(result, next, kept, made.buffer);
      result = made;
    }
  }

 private:
  // Number of results from which on each has a thread of its own.
  static constexpr int64_t kManyResults = 1 << 15;
  static constexpr int64_t kFewSummed = 32;

  static std::string without_repeats(const std::string& labels) {
    std::string result;
    for (const char label : labels) {
      if (result.find(label) == std::string::npos) result += label;
    }
    return result;
  }

  void measure(size_t slot) {
    const Extents& shape = planner_.shape(static_cast<int>(slot));
    if (planner_.input(static_cast<int>(slot)).dtype != dtype_)
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the inputs have different element types");
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      int64_t& extent = extents_.try_emplace(terms_.inputs[slot][axis], 1).first->second;
      if (shape[axis] != 1 && extent != 1 && shape[axis] != extent) {
        throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                         "input " + std::to_string(slot) + " has the shape " + text_of(shape) +
                             ", where another says " + std::to_string(extent) + " for axis " +
                             std::to_string(axis));
      }
      if (shape[axis] != 1) extent = shape[axis];
    }
  }

  [[nodiscard]] Extents extents_of(const std::string& labels) const {
    Extents result;
    for (const char label : labels) result.push_back(extents_.at(label));
    return result;
  }
  [[nodiscard]] int64_t count_of_labels(const std::string& labels) const {
    return count_of(extents_of(labels));
  }

  // A repeated label takes the diagonal; an extent of 1 is broadcast.
  [[nodiscard]] View view_of(size_t slot) const {
    const Extents& shape = planner_.shape(static_cast<int>(slot));
    const Extents dense = dense_strides(shape);
    View view;
    view.buffer = Planner::in(static_cast<int>(slot));
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const char label = terms_.inputs[slot][axis];
      const int64_t stride = shape[axis] == 1 ? 0 : dense[axis];
      if (view.has(label)) {
        view.strides[view.labels.find(label)] += stride;
      } else {
        view.labels += label;
        view.strides.push_back(stride);
      }
    }
    return view;
  }

  // A dense intermediate tensor in scratch memory.
  [[nodiscard]] View scratch_view(const std::string& labels) const {
    const int64_t count = std::max<int64_t>(1, count_of_labels(labels));
    return {labels, dense_strides(extents_of(labels)),
            planner_.scratch(static_cast<uint64_t>(count * bytes_of(dtype_)))};
  }
  void copy(const View& from, const std::string& order, const Buffer& to) const {
    const Extents extents = extents_of(order);
    plan_copy(planner_, extents, bytes_of(dtype_), to, dense_strides(extents), from.buffer,
              from.strides_of(order));
  }

  // A single input: transposed, and summed over the labels that the output lacks.
  void sum_or_copy(const View& view, const Buffer& y) const {
    const bool is_whole = std::all_of(view.labels.begin(), view.labels.end(), [&](char label) {
      return terms_.output.find(label) != std::string::npos;
    });
    if (is_whole) return copy(view, terms_.output, y);
    launch(view, nullptr, terms_.output, y);
  }

  template <class Keep>
  [[nodiscard]] View summed(const View& view, const Keep& keep) const {
    const std::string kept = filtered(view.labels, keep);
    if (kept == view.labels) return view;
    View result = scratch_view(kept);
    launch(view, nullptr, kept, result.buffer);
    return result;
  }

  // Contracts both over the labels that are not in `kept`; the result is dense in that order in
  // `y`.
  void contract(const View& a, const View& b, const std::string& kept, const Buffer& y) const {
    const auto is_kept = [&](char label) { return kept.find(label) != std::string::npos; };
    const std::string inner =
        filtered(a.labels, [&](char label) { return b.has(label) && !is_kept(label); });
    const std::string rows =
        filtered(kept, [&](char label) { return a.has(label) && !b.has(label); });
    const std::string columns =
        filtered(kept, [&](char label) { return b.has(label) && !a.has(label); });
    const bool is_matmul = !inner.empty() && !(rows.empty() && columns.empty()) &&
                           (sdk::dtype_bit(dtype_) & kFactors) != 0;
    if (!is_matmul) return launch(a, &b, kept, y);
    const std::string batch =
        filtered(kept, [&](char label) { return a.has(label) && b.has(label); });
    if (kept == batch + rows + columns) {
      multiply(a, b, {batch, rows, columns, inner}, y);
    } else if (kept == batch + columns + rows) {
      multiply(b, a, {batch, columns, rows, inner}, y);
    } else {
      const View matmul = scratch_view(batch + rows + columns);
      multiply(a, b, {batch, rows, columns, inner}, matmul.buffer);
      copy(matmul, kept, y);
    }
  }

  struct MatmulLabels {
    std::string batch, rows, columns, inner;
  };

  // An operand as a batch of matrices.
  struct Matrices {
    Buffer buffer;
    bool is_transposed = false;
    int64_t row = 0;  // row pitch in elements
    Extents batch_strides;
  };

  void multiply(const View& a, const View& b, const MatmulLabels& labels, const Buffer& y) const {
    Matrices left = matrices(a, labels.batch, labels.rows, labels.inner);
    Matrices right = matrices(b, labels.batch, labels.inner, labels.columns);
    Walk batch{extents_of(labels.batch), {left.batch_strides, right.batch_strides}};
    batch.simplify();
    if (batch.rank() > 1) {  // cuBLASLt takes one batch stride
      if (has_all(a, labels.batch)) left = copied(a, labels.batch, labels.rows, labels.inner);
      if (has_all(b, labels.batch)) right = copied(b, labels.batch, labels.inner, labels.columns);
    }
    BatchedMatmul matmul;
    matmul.dtype = dtype_;
    matmul.m = count_of_labels(labels.rows);
    matmul.n = count_of_labels(labels.columns);
    matmul.k = count_of_labels(labels.inner);
    matmul.a_is_transposed = left.is_transposed;
    matmul.b_is_transposed = right.is_transposed;
    matmul.a_row = left.row;
    matmul.b_row = right.row;
    matmul.batch = extents_of(labels.batch);
    matmul.a_strides = left.batch_strides;
    matmul.b_strides = right.batch_strides;
    plan_batched_matmul(planner_, matmul, left.buffer, right.buffer, y);
  }

  // Whether no label of the view is broadcast.
  [[nodiscard]] bool has_all(const View& view, const std::string& labels) const {
    return std::all_of(labels.begin(), labels.end(), [&](char label) {
      return extents_.at(label) == 1 || view.stride(label) != 0;
    });
  }

  // The stride of the labels merged into one axis, in their order; nullopt: they cannot be merged.
  [[nodiscard]] std::optional<int64_t> stride_of(const View& view,
                                                 const std::string& labels) const {
    std::optional<int64_t> stride;
    int64_t walked = 1;
    for (size_t i = labels.size(); i-- > 0;) {
      const int64_t extent = extents_.at(labels[i]);
      if (extent == 1) continue;
      if (!stride) {
        stride = view.stride(labels[i]);
      } else if (view.stride(labels[i]) != *stride * walked) {
        return std::nullopt;
      }
      walked *= extent;
    }
    return stride.value_or(0);
  }

  // In place if rows or columns are contiguous; else a copy.
  [[nodiscard]] Matrices matrices(const View& view, const std::string& batch,
                                  const std::string& rows, const std::string& columns) const {
    const int64_t row_count = count_of_labels(rows);
    const int64_t column_count = count_of_labels(columns);
    const std::optional<int64_t> row = stride_of(view, rows);
    const std::optional<int64_t> column = stride_of(view, columns);
    const auto is_contiguous = [](int64_t count, const std::optional<int64_t>& stride) {
      return count == 1 || (stride && *stride == 1);
    };
    // Pitch of contiguous rows; 0: rows are not contiguous.
    const auto step = [](int64_t count, const std::optional<int64_t>& stride, int64_t least) {
      if (count == 1) return least;
      return stride && *stride >= least ? *stride : 0;
    };
    if (is_contiguous(column_count, column)) {
      const int64_t next = step(row_count, row, column_count);
      if (next > 0) return {view.buffer, false, next, view.strides_of(batch)};
    }
    if (is_contiguous(row_count, row)) {
      const int64_t next = step(column_count, column, row_count);
      if (next > 0) return {view.buffer, true, next, view.strides_of(batch)};
    }
    return copied(view, batch, rows, columns);
  }

  [[nodiscard]] Matrices copied(const View& view, const std::string& batch, const std::string& rows,
                                const std::string& columns) const {
    const View dense = scratch_view(batch + rows + columns);
    copy(view, dense.labels, dense.buffer);
    return {dense.buffer, false, 0, dense.strides_of(batch)};
  }

  // Sums `a`, or its products with `b`, over the labels that are not in `kept`.
  void launch(const View& a, const View* b, const std::string& kept, const Buffer& y) const {
    const std::string all = without_repeats(a.labels + (b ? b->labels : ""));
    const std::string inner =
        filtered(all, [&](char label) { return kept.find(label) == std::string::npos; });
    const auto walk_of = [&](const std::string& labels) {
      Walk walk{extents_of(labels),
                {a.strides_of(labels), b ? b->strides_of(labels) : Extents(labels.size(), 0)}};
      walk.simplify();
      return walk;
    };
    const Walk results = walk_of(kept);
    const Walk products = walk_of(inner);
    EinsumParameters p = {};
    p.kept_count = results.count();
    p.summed_count = products.count();
    if (p.kept_count == 0) return;
    results.write_extents(p.kept_extents);
    results.write_strides(0, p.kept_a);
    results.write_strides(1, p.kept_b);
    products.write_extents(p.summed_extents);
    products.write_strides(0, p.summed_a);
    products.write_strides(1, p.summed_b);
    const bool is_by_block = p.summed_count >= kFewSummed && p.kept_count < kManyResults;
    const std::string body =
        std::string("\ntypedef ") + index_type(results.is_small() && products.is_small()) +
        " Index;\ntypedef " + type_name(dtype_) + " T;\ntypedef " + computed_name(dtype_) +
        " C;\n#define KEPT_RANK " + std::to_string(results.rank()) + "\n#define SUMMED_RANK " +
        std::to_string(products.rank()) + "\n#define HAS_B " + (b ? "1" : "0") +
        "\n#define BY_BLOCK " + (is_by_block ? "1\n" : "0\n") +
        std::string(kernel_text("einsum.cu"));
    std::vector<std::pair<const void* const*, Buffer>> addresses = {{&p.result, y},
                                                                    {&p.a, a.buffer}};
    if (b) addresses.emplace_back(&p.b, b->buffer);
    planner_.launch(kernel_source({"index.h", "index.cu", "einsum.h", "block_reduce.cu"}, body),
                    is_by_block ? p.kept_count : blocks_for(planner_, p.kept_count),
                    is_by_block ? threads_for_row(p.summed_count) : kThreads, p, addresses);
  }

  Planner& planner_;
  EinsumTerms terms_;
  uint32_t dtype_;
  std::map<char, int64_t> extents_;
};

class Einsum final : public Operation {
 public:
  explicit Einsum(const NodeView& node) : equation_(node.get_string("equation", "")) {}

  void plan(Planner& planner) const override {
    std::vector<size_t> ranks;
    ranks.reserve(static_cast<size_t>(planner.input_count()));
    for (int slot = 0; slot < planner.input_count(); ++slot)
      ranks.push_back(planner.shape(slot).size());
    Contraction(planner, einsum_terms(equation_, ranks)).run();
  }

 private:
  std::string equation_;
};

std::string has_few_letters(const NodeView& node) {
  return einsum_letters(node.get_string("equation", "")).size() > MOST_AXES
             ? "equations of more than " + std::to_string(MOST_AXES) + " letters are not supported"
             : "";
}

constexpr sdk::KernelRow kRows[] = {
    {"Einsum", 12, sdk::kLatest, sdk::kNumbers, make<Einsum>, {}, has_few_letters},
};

}  // namespace

sdk::KernelTable einsum_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
