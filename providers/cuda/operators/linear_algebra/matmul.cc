// SPDX-License-Identifier: Apache-2.0
// MatMul, Gemm and com.microsoft's FusedMatMul with their epilogues: by cuBLASLt where it supports
// them, else by own kernels.
#include <algorithm>
#include <limits>
#include <optional>

#include "fuse/matmul_epilogue.h"
#include "operators/linear_algebra/batched_matmul.h"
#include "operators/linear_algebra/matmul_plan.h"
#include "operators/linear_algebra/rows_matmul.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

// One operand: its matrices and its batch axes.
struct Factor {
  Extents batch;
  int64_t rows = 1;
  int64_t columns = 1;
  bool is_transposed = false;  // stored as [columns, rows]

  [[nodiscard]] int64_t row_stride() const { return is_transposed ? 1 : columns; }
  [[nodiscard]] int64_t column_stride() const { return is_transposed ? rows : 1; }
};

Factor factor_of(const Extents& shape, bool is_transposed) {
  Factor factor;
  factor.is_transposed = is_transposed;
  factor.batch.assign(shape.begin(), shape.end() - 2);
  factor.rows = shape[shape.size() - 2];
  factor.columns = shape.back();
  if (is_transposed) std::swap(factor.rows, factor.columns);
  return factor;
}

struct MatmulProblem {
  Factor a;
  Factor b;
  Extents batch;
  double alpha = 1;

  MatmulProblem(Factor left, Factor right) : a(std::move(left)), b(std::move(right)) {
    if (a.columns != b.rows) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input 1 has " + std::to_string(b.rows) +
                                                    " rows, needs " + std::to_string(a.columns) +
                                                    " as input 0 has columns");
    }
    batch = broadcast(a.batch, b.batch);
  }

  // The parameters without addresses and epilogue.
  [[nodiscard]] MatmulParameters parameters(Walk& walk) const {
    MatmulParameters p = {};
    p.m = a.rows;
    p.n = b.columns;
    p.k = a.columns;
    p.a_row = a.row_stride();
    p.a_column = a.column_stride();
    p.b_row = b.row_stride();
    p.b_column = b.column_stride();
    p.alpha = alpha;
    walk.extents = batch;
    walk.strides = {broadcast_strides(a.batch, batch), broadcast_strides(b.batch, batch)};
    const int64_t sizes[] = {a.rows * a.columns, b.rows * b.columns};
    for (size_t i = 0; i < 2; ++i) {
      for (int64_t& stride : walk.strides[i]) stride *= sizes[i];
    }
    walk.simplify();
    walk.write_extents(p.batch_extents);
    walk.write_strides(0, p.a_batch);
    walk.write_strides(1, p.b_batch);
    return p;
  }
};

// Limit of library calls for one matmul; beyond it one launch of an own kernel is faster.
constexpr int64_t kMostCalls = 64;

// The batch as cuBLASLt takes it: one axis per call, and a call for each position along the other
// axes.
struct Batches {
  int64_t count = 1;
  int64_t a_stride = 0, b_stride = 0, y_stride = 0;  // in elements
  std::vector<MatmulOffsets> positions;
};

// nullopt: there would be too many calls, or some matrix is less aligned than cuBLASLt requires.
std::optional<Batches> batches_of(const Walk& walk, int64_t y_size, int64_t element_bytes) {
  const auto longest = std::max_element(walk.extents.begin(), walk.extents.end());
  const auto along = static_cast<size_t>(longest - walk.extents.begin());
  if (*longest > 0 && walk.count() / *longest > kMostCalls) return std::nullopt;
  Extents y_strides = dense_strides(walk.extents);
  for (int64_t& stride : y_strides) stride *= y_size;
  Batches batches{
      *longest, walk.strides[0][along], walk.strides[1][along], y_strides[along], {{0, 0, 0}}};
  for (size_t axis = 0; axis < walk.extents.size(); ++axis) {
    if (axis == along) continue;
    const MatmulOffsets step = {walk.strides[0][axis], walk.strides[1][axis], y_strides[axis]};
    for (const int64_t offset : {step.a, step.b, step.y}) {
      if (offset * element_bytes % kBlasAlignment != 0) return std::nullopt;
    }
    const size_t known = batches.positions.size();
    for (int64_t i = 1; i < walk.extents[axis]; ++i) {
      for (size_t k = 0; k < known; ++k) {
        const MatmulOffsets& from = batches.positions[k];
        batches.positions.push_back(
            {from.a + i * step.a, from.b + i * step.b, from.y + i * step.y});
      }
    }
  }
  return batches;
}

// Sets `call.blas` if cuBLASLt supports the matmul.
void offer_to_blas(const Planner& planner, const MatmulProblem& matmul, MatmulCall& call) {
  const uint32_t dtype = planner.input(0).dtype;
  const bool is_float = (sdk::dtype_bit(dtype) & sdk::kFloats) != 0;
  if (!is_float || matmul.a.columns == 0) return;
  std::optional<Batches> batches =
      batches_of(call.walk, matmul.a.rows * matmul.b.columns, bytes_of(dtype));
  if (!batches) return;
  MatmulShape shape;
  shape.dtype = dtype;
  shape.m = matmul.a.rows;
  shape.n = matmul.b.columns;
  shape.k = matmul.a.columns;
  shape.a_is_transposed = matmul.a.is_transposed;
  shape.b_is_transposed = matmul.b.is_transposed;
  shape.batch = batches->count;
  shape.a_batch_stride = batches->a_stride;
  shape.b_batch_stride = batches->b_stride;
  // 0 stands for a dense pitch.
  if (batches->y_stride != shape.m * shape.n) shape.y_batch_stride = batches->y_stride;
  shape.alpha = matmul.alpha;
  shape.rounds_to_tf32 = planner.rounds_to_tf32();
  if (shape.batch > 1 && shape.b_batch_stride == 0 && shape.y_batch_stride == 0 &&
      !shape.a_is_transposed && shape.a_batch_stride == shape.m * shape.k) {
    // All matrices share the right operand: one matmul with many rows.
    shape.m *= shape.batch;
    shape.batch = 1;
  }
  const int64_t most = std::numeric_limits<int32_t>::max();
  if (std::max({shape.m, shape.n, shape.k, shape.batch}) > most) return;
  call.blas = shape;
  call.repeats = std::move(batches->positions);
}

MatmulActivation library_activation(MatmulActivation activation) {
  return activation == MatmulActivation::kGelu ? MatmulActivation::kNone : activation;
}

class MatMul final : public Operation {
 public:
  explicit MatMul(const NodeView& node) : MatMul(node, MatmulEpilogue{}) {}
  /// `epilogue`: a bias is input 2, an addend the last.
  MatMul(const NodeView& node, const MatmulEpilogue& epilogue)
      : epilogue_(epilogue),
        transposes_a_(node.get_int("transA", 0) != 0),
        transposes_b_(node.get_int("transB", 0) != 0),
        alpha_(node.get_float("alpha", 1)) {}
  void plan(Planner& planner) const override {
    Extents a = planner.shape(0);
    Extents b = planner.shape(1);
    if (a.empty() || b.empty())
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "an operand is a scalar, needs at least one axis");
    const bool is_row = a.size() == 1;
    const bool is_column = b.size() == 1;
    if (is_row) a.insert(a.begin(), 1);
    if (is_column) b.push_back(1);
    MatmulProblem matmul(factor_of(a, transposes_a_ && !is_row),
                         factor_of(b, transposes_b_ && !is_column));
    matmul.alpha = alpha_;
    Extents shape = matmul.batch;
    if (!is_row) shape.push_back(matmul.a.rows);
    if (!is_column) shape.push_back(matmul.b.columns);
    const uint32_t dtype = planner.input(0).dtype;
    const Buffer y = planner.output(0, dtype, shape);
    const int addend = epilogue_.has_bias ? 3 : 2;
    if (epilogue_.has_addend && planner.shape(addend) != shape) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the addend has the shape " +
                                                    text_of(planner.shape(addend)) +
                                                    ", expected that of the result, " +
                                                    text_of(shape) + ", as the model says");
    }
    Walk walk;
    MatmulParameters parameters = matmul.parameters(walk);
    if (count_of(shape) == 0) return;
    MatmulCall call = {parameters,
                       walk,
                       dtype,
                       y,
                       Planner::in(0),
                       Planner::in(1),
                       {},
                       epilogue_.activation,
                       {},
                       Planner::in(2),
                       Planner::in(addend)};
    offer_to_blas(planner, matmul, call);
    if (call.blas) {
      if (call.repeats.size() == 1 && call.blas->m == parameters.m * walk.count()) {
        // One matmul with many rows for own kernels too.
        parameters.m *= walk.count();
        walk = {{1}, {{0}, {0}}};
      }
      call.blas->has_bias = epilogue_.has_bias;
      call.blas->activation = library_activation(epilogue_.activation);
      call.blas->beta = epilogue_.has_addend ? 1 : 0;
    }
    parameters.has_relu = epilogue_.activation == MatmulActivation::kRelu ? 1 : 0;
    if (epilogue_.has_bias) {
      parameters.c_column = 1;
      parameters.beta = 1;
      call.more.emplace_back(&parameters.c, Planner::in(2));
    }
    if (epilogue_.has_addend) call.more.emplace_back(&parameters.added, Planner::in(addend));
    plan_matmul(planner, call);
  }

 private:
  MatmulEpilogue epilogue_;
  bool transposes_a_;
  bool transposes_b_;
  double alpha_;
};

class Gemm final : public Operation {
 public:
  explicit Gemm(const NodeView& node) : Gemm(node, MatmulEpilogue{}) {}
  /// `epilogue`: without a bias, which is input 2 of the node.
  Gemm(const NodeView& node, const MatmulEpilogue& epilogue)
      : activation_(epilogue.activation),
        transposes_a_(node.get_int("transA", 0) != 0),
        transposes_b_(node.get_int("transB", 0) != 0),
        alpha_(node.get_float("alpha", 1)),
        beta_(node.get_float("beta", 1)) {}
  void plan(Planner& planner) const override {
    if (planner.input(0).rank() != 2 || planner.input(1).rank() != 2)
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "an operand is no matrix");
    MatmulProblem matmul(factor_of(planner.shape(0), transposes_a_),
                         factor_of(planner.shape(1), transposes_b_));
    matmul.alpha = alpha_;
    const Extents shape = {matmul.a.rows, matmul.b.columns};
    const uint32_t dtype = planner.input(0).dtype;
    const Buffer y = planner.output(0, dtype, shape);
    Walk walk;
    MatmulParameters parameters = matmul.parameters(walk);
    MatmulCall call = {parameters,     walk, dtype,       y,  Planner::in(0),
                       Planner::in(1), {},   activation_, {}, Planner::in(2),
                       Planner::in(2)};
    if (planner.has_input(2)) {
      if (broadcast(planner.shape(2), shape) != shape) {
        throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input 2 has the shape " +
                                                      text_of(planner.shape(2)) +
                                                      ", which does not reach " + text_of(shape));
      }
      const Extents strides = broadcast_strides(planner.shape(2), shape);
      parameters.c_row = strides[0];
      parameters.c_column = strides[1];
      parameters.beta = beta_;
      call.more.emplace_back(&parameters.c, Planner::in(2));
    }
    if (count_of(shape) == 0) return;
    parameters.has_relu = activation_ == MatmulActivation::kRelu ? 1 : 0;
    offer_to_blas(planner, matmul, call);
    if (call.blas) {
      const bool is_whole = planner.has_input(2) && planner.shape(2) == shape;
      call.blas->activation = library_activation(activation_);
      if (is_whole) call.blas->beta = beta_;
      // A bias per column. With one column, any shape of one element is that.
      call.blas->has_bias = planner.has_input(2) && !is_whole && parameters.c_row == 0 &&
                            (parameters.c_column == 1 || call.blas->n == 1) && beta_ == 1;
      if (planner.has_input(2) && !is_whole && !call.blas->has_bias) call.blas.reset();
    }
    plan_matmul(planner, call);
  }

 private:
  MatmulActivation activation_;
  bool transposes_a_;
  bool transposes_b_;
  double alpha_;
  double beta_;
};

std::string is_plain(const NodeView& node) {
  return node.get_int("transBatchA", 0) != 0 || node.get_int("transBatchB", 0) != 0
             ? "transposed batches are not supported"
             : "";
}

constexpr sdk::KernelRow kRows[] = {
    {"Gemm", 7, sdk::kLatest, kFactors, make<Gemm>},
    {"MatMul", 1, sdk::kLatest, kFactors, make<MatMul>},
    {"FusedMatMul", 1, sdk::kLatest, kFactors, make<MatMul>, {}, is_plain, "com.microsoft"},
};

std::unique_ptr<sdk::Kernel> make_fused(const sdk::FusionCompile& compile,
                                        const MatmulFusion& fusion) {
  const NodeView root = compile.scope.index().node(fusion.root);
  if (root.op_type() == "Gemm") return kernel_of(std::make_unique<Gemm>(root, fusion.epilogue));
  return kernel_of(std::make_unique<MatMul>(root, fusion.epilogue));
}

}  // namespace

void plan_rows_matmul(Planner& planner, const RowsMatmul& matmul, const Buffer& a, const Buffer& b,
                      const Buffer* bias, const Buffer& y, const Buffer* added) {
  MatmulShape shape;
  shape.dtype = matmul.dtype;
  shape.m = matmul.m;
  shape.n = matmul.n;
  shape.k = matmul.k;
  shape.b_is_transposed = matmul.b_is_transposed;
  shape.has_bias = bias != nullptr;
  shape.beta = added ? 1 : 0;
  shape.rounds_to_tf32 = planner.rounds_to_tf32();
  const Extents b_shape =
      matmul.b_is_transposed ? Extents{matmul.n, matmul.k} : Extents{matmul.k, matmul.n};
  MatmulProblem whole(factor_of({matmul.m, matmul.k}, false),
                      factor_of(b_shape, matmul.b_is_transposed));
  Walk walk;
  MatmulParameters parameters = whole.parameters(walk);
  const uint32_t dtype = matmul.dtype;
  MatmulCall call = {parameters, walk, dtype, y, a, b, {}, {}, shape, {}, {}};
  if (bias) {
    parameters.c_column = 1;
    parameters.beta = 1;
    call.more.emplace_back(&parameters.c, *bias);
    call.bias = *bias;
  }
  if (added) {
    call.more.emplace_back(&parameters.added, *added);
    call.added = *added;
  }
  plan_matmul(planner, call);
}

sdk::KernelTable matmul_kernels() { return sdk::table(kRows); }

sdk::FusionRow matmul_row() {
  return sdk::fusion_row<MatmulFusion, match_matmul, no_refusal<MatmulFusion>, make_fused>(
      "cuda.matmul");
}

}  // namespace gantry::cuda
