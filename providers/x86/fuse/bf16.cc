// SPDX-License-Identifier: Apache-2.0
#include "fuse/bf16.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <chrono>
#include <immintrin.h>
#include <string_view>

namespace gantry::x86 {
namespace {

constexpr int kChains = 12;  // independent dependency chains
constexpr int kSteps = 400;

[[gnu::target("avx512f,avx512bf16")]] float multiply_bf16() {
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  const auto pair = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3f803f80));  // 1, 1
  for (int i = 0; i < kSteps; ++i) {
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, pair, pair);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

[[gnu::target("avx512f")]] float multiply_f32() {
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  const __m512 one = _mm512_set1_ps(1);
  for (int i = 0; i < kSteps; ++i) {
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, one, one);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

/// The shortest time of several calls, in nanoseconds.
double time_of(float (*function)()) {
  double least = 1e9;
  volatile float result = 0;
  for (int i = 0; i < 8; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    result = function();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    least = std::min(least, time.count());
  }
  static_cast<void>(result);
  return least;
}

/// True if multiply-adds are clearly faster in bf16. An instruction does twice as many as in f32,
/// but some CPUs issue half as many per cycle. Requires AVX-512 BF16.
bool multiplies_faster() {
  static const bool is_faster = [] {
    constexpr double kGain = 1.3;
    constexpr double kProductsOfOne = 2;  // times those of an instruction for f32
    return time_of(multiply_bf16) * kGain < time_of(multiply_f32) * kProductsOfOne;
  }();
  return is_faster;
}

}  // namespace

void require_instructions(const Options& options) {
  constexpr auto kWanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  const auto allowed = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  if (!options.is_bf16 || (allowed & kWanted) == kWanted) return;
  throw sdk::Error(
      GANTRY_UNSUPPORTED,
      "x86: the option precision is \"bf16\", for which the CPU was expected to have the "
      "instructions avx512_bf16; it has not, or ONEDNN_MAX_CPU_ISA forbids them; take \"f32\"");
}

bool is_worth_bf16(const GraphIndex& index, const Fusion& fusion, const Options& options) {
  if (!options.is_bf16 || fusion.is_quantized() || !has_constant_weights(index, fusion))
    return false;
  const sdk::NodeView node = index.node(fusion.root);
  constexpr int64_t kLeastChannels = 16;  // of the input, per group
  if (node.op_type() == "Conv")
    return index.value(fusion.weights).extent(1) >= kLeastChannels && multiplies_faster();
  if (node.op_type() != "MatMul" && node.op_type() != "Gemm") return false;
  constexpr int64_t kFewRows = 16;
  const sdk::ValueView left = index.value(fusion.sources[0].value);
  int64_t rows = 1;
  for (int axis = 0; axis + 1 < left.rank(); ++axis) {
    if (left.extent(axis) < 0) return multiplies_faster();
    rows *= left.extent(axis);
  }
  return rows <= kFewRows || multiplies_faster();
}

}  // namespace gantry::x86
