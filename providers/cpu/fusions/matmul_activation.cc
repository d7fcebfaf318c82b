// SPDX-License-Identifier: Apache-2.0
// Fuses MatMul by a constant matrix, an optional bias and an activation, in f32. The epilogue runs
// while the result of the GEMM is in the cache, which saves two passes over it.
//
// %m = MatMul(%x, %matrix) x: [..., K], matrix: [K, N] %s = Add(%m, %bias) bias: [N]; may be
// absent, operands in either order %y = Sigmoid(%s) or another function without parameters
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "fusions/fusions.h"
#include "linear_algebra/blas.h"
#include "node_kernel.h"
#include "simd/vector_math.h"

namespace gantry::cpu {
namespace {

struct Activation {
  std::string_view op_type;
  simd::Map* map;
};
constexpr std::array<Activation, 7> kActivations = {{{"Relu", simd::relu},
                                                     {"Sigmoid", simd::sigmoid},
                                                     {"Tanh", simd::tanh},
                                                     {"Softplus", simd::softplus},
                                                     {"Softsign", simd::softsign},
                                                     {"Mish", simd::mish},
                                                     {"HardSwish", simd::hard_swish}}};

struct MatMulActivation : sdk::FusionMatch {
  uint32_t root = GANTRY_NONE;
  uint32_t x = GANTRY_NONE;
  uint32_t matrix = GANTRY_NONE;
  uint32_t bias = GANTRY_NONE;  ///< none is added
  simd::Map* activation = nullptr;
};

std::unique_ptr<MatMulActivation> match(const sdk::FusionScope& scope, uint32_t root) {
  const sdk::GraphIndex& index = scope.index();
  if (!sdk::is_operator(index, root, "MatMul", 2)) return nullptr;
  auto found = std::make_unique<MatMulActivation>();
  found->root = root;
  found->nodes = {root};
  found->x = index.raw(root).inputs[0];
  found->matrix = index.raw(root).inputs[1];
  uint32_t result = sdk::result_of(index, root);
  const uint32_t add = scope.only_reader(result, "Add", 2);
  if (add != GANTRY_NONE) {
    found->bias = sdk::other_operand(index, add, result);
    found->nodes.push_back(add);
    result = sdk::result_of(index, add);
  }
  for (const Activation& activation : kActivations) {
    const uint32_t node = scope.only_reader(result, activation.op_type, 1);
    if (node == GANTRY_NONE) continue;
    found->activation = activation.map;
    found->nodes.push_back(node);
    std::sort(found->nodes.begin(), found->nodes.end());
    return found;
  }
  return nullptr;
}

std::string refusal(const sdk::FusionScope& scope, const MatMulActivation& match) {
  const sdk::GraphIndex& index = scope.index();
  const sdk::ValueView x = index.value(match.x);
  const sdk::ValueView matrix = index.value(match.matrix);
  if (x.dtype() != GANTRY_FLOAT) return "only float32 is taken";
  if (x.rank() < 2) return "the first tensor is not of rank 2 or more";
  if (!matrix.is_constant() || matrix.rank() != 2) return "the second matrix is not constant";
  if (match.bias == GANTRY_NONE) return {};
  const sdk::ValueView bias = index.value(match.bias);
  if (!bias.is_constant() || bias.rank() != 1 || bias.extent(0) != matrix.extent(1))
    return "what is added is no constant row";
  return {};
}

class MatMulActivationKernel final : public NodeKernel {
 public:
  MatMulActivationKernel(const sdk::FusionCompile& compile, const MatMulActivation& match)
      : NodeKernel(compile.scope.index().node(match.root)),
        x_(compile.slot_of(match.x)),
        matrix_(compile.slot_of(match.matrix)),
        bias_(match.bias == GANTRY_NONE ? -1 : compile.slot_of(match.bias)),
        activation_(match.activation) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(x_);
    const int64_t k = call.shape(matrix_)[0];
    const int64_t n = call.shape(matrix_)[1];
    if (x.rank < 2 || x[x.rank - 1] != k)
      fail("the last extent of " + to_string(x) + " is not " + std::to_string(k));
    Dims shape(x);
    shape[x.rank - 1] = n;
    const int64_t rows = x.count(0, x.rank - 1);
    check_gemm(rows, n, k, label());
    auto* y = static_cast<float*>(call.output(0, GANTRY_FLOAT, shape.shape()).data);
    if (rows == 0 || n == 0) return;
    gemm(call, dense_gemm<float>(rows, n, k, call.data<float>(x_), call.data<float>(matrix_), y));
    const float* bias = bias_ < 0 ? nullptr : call.data<float>(bias_);
    call.parallel_for(rows, std::max<int64_t>(1, kLeastElements / n),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t row = begin; row < end; ++row) {
                          float* here = y + row * n;
                          if (bias) simd::add(here, 1, bias, 1, here, n);
                          activation_(here, here, n, nullptr);
                        }
                      });
  }

 private:
  static constexpr int64_t kLeastElements = 4096;  // that a thread takes

  int x_;  // slots of the call
  int matrix_;
  int bias_;  // -1: none
  simd::Map* activation_;
};

std::unique_ptr<sdk::Kernel> make(const sdk::FusionCompile& compile,
                                  const MatMulActivation& match) {
  return std::make_unique<MatMulActivationKernel>(compile, match);
}

}  // namespace

sdk::FusionRow matmul_activation() {
  return sdk::fusion_row<MatMulActivation, match, refusal, make>("MatMul+activation");
}

}  // namespace gantry::cpu
