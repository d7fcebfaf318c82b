// SPDX-License-Identifier: Apache-2.0
// int8 matmuls: MatMulInteger, QLinearMatMul, and MatMul and Gemm between DequantizeLinear and
// QuantizeLinear.
#include <algorithm>

#include "compile/kernel_texts.h"
#include "operators/quantization/int8_call.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

constexpr int64_t kVector = 16;  // elements of a vector access

class Int8Matmul final : public Operation {
 public:
  explicit Int8Matmul(const NodeView& node) : work_(int8_problem(node)) {}
  Int8Matmul(const NodeView& node, const Int8Problem& work)
      : work_(work),
        transposes_a_(node.get_int("transA", 0) != 0),
        transposes_b_(node.get_int("transB", 0) != 0) {}

  void plan(Planner& planner) const override {
    Extents a = planner.shape(work_.slots.x);
    Extents b = planner.shape(work_.slots.w);
    if (a.empty() || b.empty())
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "an operand is a scalar, needs at least one axis");
    const bool is_row = a.size() == 1;
    const bool is_column = b.size() == 1;
    if (is_row) a.insert(a.begin(), 1);
    if (is_column) b.push_back(1);
    if (transposes_a_) std::swap(a[a.size() - 2], a.back());
    if (transposes_b_) std::swap(b[b.size() - 2], b.back());
    Call call;
    Int8MatmulParameters& p = call.parameters;
    p.m = a[a.size() - 2];
    p.k = a.back();
    p.n = b.back();
    if (b[b.size() - 2] != p.k) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "input " + std::to_string(work_.slots.w) + " has " +
                           std::to_string(b[b.size() - 2]) + " rows, needs " + std::to_string(p.k) +
                           " as input " + std::to_string(work_.slots.x) + " has columns");
    }
    call.a_batch.assign(a.begin(), a.end() - 2);
    call.b_batch.assign(b.begin(), b.end() - 2);
    const Extents batch = broadcast(call.a_batch, call.b_batch);
    Extents shape = batch;
    if (!is_row) shape.push_back(p.m);
    if (!is_column) shape.push_back(p.n);
    const Buffer y = planner.output(0, work_.dtype, shape);
    if (count_of(shape) == 0) return;
    set_strides(planner, call);
    call.walk.extents = batch;
    call.walk.strides = {broadcast_strides(call.a_batch, batch),
                         broadcast_strides(call.b_batch, batch)};
    for (int64_t& stride : call.walk.strides[0]) stride *= p.m * p.k;
    for (int64_t& stride : call.walk.strides[1]) stride *= call.b_elements;
    call.walk.simplify();
    launch(planner, call, y);
  }

 private:
  struct Call {
    Int8MatmulParameters parameters = {};
    Extents a_batch, b_batch;
    Walk walk;
    Buffer b;
    int64_t b_elements = 0;  // elements of a stored matrix
    bool packs_b = false;
  };

  // Sets the strides of both operands. A constant right operand is transposed once, so that it is
  // contiguous along the inner axis and padded to whole vectors.
  void set_strides(Planner& planner, Call& call) const {
    Int8MatmulParameters& p = call.parameters;
    p.a_row = transposes_a_ ? 1 : p.k;
    p.a_inner = transposes_a_ ? p.m : 1;
    p.b_column = transposes_b_ ? p.k : 1;
    p.b_inner = transposes_b_ ? 1 : p.n;
    call.b = Planner::in(work_.slots.w);
    call.b_elements = p.k * p.n;
    if (!work_.has_constant_w || transposes_b_ || call.b_elements == 0) return;
    const Int8Transpose transpose = {count_of(call.b_batch), 1, p.k, p.n,
                                     (p.k + kVector - 1) / kVector * kVector};
    call.b = transposed_.plan(planner, transpose, work_);
    call.packs_b = true;
    call.b_elements = p.n * transpose.padded;
    p.b_column = transpose.padded;
    p.b_inner = 1;
  }

  void launch(Planner& planner, Call& call, const Buffer& y) const {
    Int8MatmulParameters& p = call.parameters;
    call.walk.write_extents(p.batch_extents);
    call.walk.write_strides(0, p.a_batch);
    call.walk.write_strides(1, p.b_batch);
    p.out.depth = p.k;
    Int8Addresses addresses = {{&p.a, Planner::in(work_.slots.x)}, {&p.b, call.b}};
    add_result(planner, work_, false, p.m, p.n, y, p.out, addresses);
    const Int8Tile tile = tile_for(planner, p.m, p.n, call.walk.count());
    p.tiles_m = static_cast<unsigned>((p.m + tile.rows - 1) / tile.rows);
    p.tiles_n = static_cast<unsigned>((p.n + tile.columns - 1) / tile.columns);
    const int64_t batch = call.walk.count();
    const Int8Tiles tiles = {batch * p.tiles_m * p.tiles_n, p.k, p.m, p.n, batch * p.m * p.n};
    const int64_t shares = plan_split_k(planner, tiles, p.out, addresses);
    const auto is_contiguous = [](int64_t inner) { return inner == 1 ? "true" : "false"; };
    const auto is_vector = [](int64_t inner, int64_t row) {
      return inner == 1 && row % kVector == 0 ? "true" : "false";
    };
    const uint32_t b_dtype =
        call.packs_b ? uint32_t{GANTRY_INT8} : planner.input(work_.slots.w).dtype;
    const std::string body = join(
        {text_of_result(planner, work_, false, shares > 1),
         text_of_tile(tile, !work_.is_w_centred, !work_.is_x_centred), "#define BATCH_RANK ",
         std::to_string(call.walk.rank()), "\n#define A_ALONG ", is_contiguous(p.a_inner),
         "\n#define B_ALONG ", is_contiguous(p.b_inner), "\n#define A_VECTOR ",
         is_vector(p.a_inner, p.a_row), "\n#define B_VECTOR ", is_vector(p.b_inner, p.b_column),
         "\n#define A_FLIP ", flip_of(planner.input(work_.slots.x).dtype), "\n#define B_FLIP ",
         flip_of(b_dtype), "\n", kernel_text("int8_matmul.cu")});
    planner.launch(
        kernel_source({"index.h", "index.cu", "int8_epilogue.h", "int8_matmul.h", "elementwise.cu"},
                      body),
        tiles.blocks * shares, kThreads, p, addresses);
    if (shares > 1) plan_split_k_reduction(planner, tiles, work_, false, p.out, addresses);
  }

  Int8Problem work_;
  bool transposes_a_ = false;
  bool transposes_b_ = false;
  TransposedWeights transposed_;
};

constexpr sdk::DTypeSet kBytes = sdk::dtypes(GANTRY_INT8, GANTRY_UINT8);

std::string is_of_matrices(const NodeView& node) {
  const bool is_linear = node.op_type() == "QLinearMatMul";
  const int right = is_linear ? 3 : 1;
  if (!(sdk::dtype_bit(node.input(right).dtype()) & kBytes))
    return "the type of the right operand is not known to be int8 or uint8";
  for (int slot = 1; slot < node.input_count(); ++slot) {
    const bool is_scale = is_linear && (slot == 1 || slot == 4 || slot == 6);
    if (is_scale && node.input(slot).dtype() != GANTRY_FLOAT)
      return "only scales of 32 bits are supported";
    if (slot != right && node.input(slot).rank() > 1)
      return "scales and zero points by row or column of each of a batch are not supported";
  }
  return "";
}

constexpr sdk::KernelRow kRows[] = {
    {"MatMulInteger", 10, sdk::kLatest, kBytes, make<Int8Matmul>, {}, is_of_matrices},
    {"QLinearMatMul", 10, sdk::kLatest, kBytes, make<Int8Matmul>, {}, is_of_matrices},
};

std::unique_ptr<sdk::Kernel> make_fused(const sdk::FusionCompile& compile,
                                        const Int8Fusion& fusion) {
  return kernel_of(std::make_unique<Int8Matmul>(compile.scope.index().node(fusion.root),
                                                int8_problem(compile, fusion)));
}

}  // namespace

sdk::KernelTable int8_matmul_kernels() { return sdk::table(kRows); }

sdk::FusionRow int8_matmul_row() {
  return sdk::fusion_row<Int8Fusion, match_int8_matmul, no_refusal<Int8Fusion>, make_fused>(
      "cuda.int8_matmul");
}

}  // namespace gantry::cuda
