// SPDX-License-Identifier: Apache-2.0
#include "operators/linear_algebra/matmul_plan.h"

#include <algorithm>
#include <functional>

#include "operators/linear_algebra/matmul_tiles.h"
#include "plan/execution_device.h"

namespace gantry::cuda {
namespace {

using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

constexpr int64_t kTile = 64;
constexpr int64_t kMostSkinnyRows = 8;
constexpr int64_t kMostSplits = 16;

std::string define(const char* name, int64_t value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}

void call_blas(Planner& planner, const MatmulCall& call) {
  const MatmulShape shape = *call.blas;
  const auto bytes = static_cast<uint64_t>(bytes_of(call.dtype));
  const auto at = [&](const Buffer& buffer, int64_t elements) {
    return buffer.at(static_cast<uint64_t>(elements) * bytes);
  };
  const Buffer workspace = planner.scratch(kBlasWorkspaceBytes);
  for (const MatmulOffsets& from : call.repeats) {
    std::vector<Buffer> buffers = {at(call.y, from.y), workspace, at(call.a, from.a),
                                   at(call.b, from.b)};
    if (shape.has_bias) buffers.push_back(*call.bias);
    if (shape.beta != 0) buffers.push_back(at(*call.added, from.y));
    const size_t last = buffers.size() - 1;
    planner.call(std::move(buffers), [shape, last](Stream& stream, void* const* to) {
      ExecutionDevice::of(stream).blas()->run(shape, stream, to[2], to[3],
                                              shape.beta != 0 ? to[last] : nullptr,
                                              shape.has_bias ? to[4] : nullptr, to[0], to[1]);
    });
  }
  if (call.activation == shape.activation) return;
  MatmulParameters whole = {};
  whole.m = call.parameters.m * call.walk.count();
  whole.n = call.parameters.n;
  planner.launch(matmul_source(call, "", {"matmul_activation.cu"}),
                 blocks_for(planner, (whole.m * whole.n + 7) / 8), kThreads, whole,
                 {{&whole.result, call.y}});
}

void launch_simple(Planner& planner, const MatmulCall& call) {
  MatmulParameters& p = call.parameters;
  p.tiles_m = static_cast<unsigned>((p.m + kTile - 1) / kTile);
  p.tiles_n = static_cast<unsigned>((p.n + kTile - 1) / kTile);
  planner.launch(matmul_source(call, define("BATCH_RANK", call.walk.rank()), {"matmul.cu"}),
                 call.walk.count() * p.tiles_m * p.tiles_n, 256, p, matmul_addresses(call));
}

// Elements of a 16-byte vector access.
int64_t vector_of(const MatmulCall& call) { return 16 / bytes_of(call.dtype); }

// Whether rows of the right operand are contiguous and whole vectors.
bool lies_by_rows(const MatmulCall& call) {
  const MatmulParameters& p = call.parameters;
  return p.b_column == 1 && p.b_row == p.n && p.n % vector_of(call) == 0;
}

// Whether it is a skinny GEMM: few rows, and a right operand whose rows or columns are contiguous
// and whole vectors. A batch must share the right operand.
bool takes_skinny_gemm(const MatmulCall& call) {
  const MatmulParameters& p = call.parameters;
  constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);
  if (!(sdk::dtype_bit(call.dtype) & kTypes)) return false;
  const int64_t batch = call.walk.count();
  const bool is_one = batch == 1 || (call.walk.rank() == 1 && call.walk.strides[1][0] == 0 &&
                                     call.walk.strides[0][0] == p.m * p.k && p.c_row == 0);
  const bool is_dense = p.a_column == 1 && (p.m == 1 || p.a_row == p.k);
  const int64_t vector = vector_of(call);
  const bool lies_by_columns = p.b_row == 1 && p.b_column == p.k;
  return is_one && is_dense && p.m * batch <= kMostSkinnyRows && p.k >= vector &&
         p.k % vector == 0 && (lies_by_rows(call) || lies_by_columns);
}

void launch_by_columns(Planner& planner, const MatmulCall& call, MatmulParameters& p,
                       const std::string& rows) {
  constexpr int64_t kWarps = 8;
  const int64_t columns = p.n >= 2 * 2 * kWarps * planner.multiprocessors ? 2 : 1;
  const int64_t blocks = (p.n + kWarps * columns - 1) / (kWarps * columns);
  p.prefetch_bytes =
      prefetch_bytes_for(planner, blocks, kWarps * columns * p.k * bytes_of(call.dtype));
  planner.launch(
      matmul_source(call, rows + define("COLUMNS", columns), {"skinny_gemm_transposed.cu"}), blocks,
      32 * kWarps, p, matmul_addresses(call));
}

constexpr int64_t kBlock = 256;  // threads
constexpr int64_t kMostThreads = 1024;
constexpr int64_t kMostRowsOfLargeBlocks =
    2;  // limit of rows for which registers suffice for the largest blocks

int64_t tiles_of(int64_t columns, int64_t width) { return (columns + width - 1) / width; }

// Threads along the columns of a block: halved until there are two blocks for each multiprocessor.
int64_t lanes_for(const Planner& planner, int64_t columns, int64_t vector) {
  int64_t lanes = 8;
  while (lanes > 2 && tiles_of(columns, lanes * vector) < 2 * planner.multiprocessors) lanes /= 2;
  return lanes;
}

void launch_by_rows(Planner& planner, const MatmulCall& call, MatmulParameters& p,
                    const std::string& rows) {
  const int64_t vector = vector_of(call);
  const int64_t lanes = lanes_for(planner, p.n, vector);
  const int64_t tiles = tiles_of(p.n, lanes * vector);
  // With fewer blocks than multiprocessors, blocks get more threads, as far as work and registers
  // allow; then the inner axis is split too.
  const auto rounds = [&](int64_t threads) { return p.k / vector / (threads / lanes); };
  const int64_t wanted = planner.multiprocessors * kBlock;  // threads
  int64_t threads = kBlock;
  while (p.m <= kMostRowsOfLargeBlocks && threads < kMostThreads && tiles * threads < wanted &&
         rounds(2 * threads) > 0)
    threads *= 2;
  p.tiles_n = static_cast<unsigned>(tiles);
  p.splits = static_cast<int>(std::clamp<int64_t>(
      std::min<int64_t>(wanted / std::max<int64_t>(tiles * threads, 1), rounds(threads)), 1,
      kMostSplits));
  p.prefetch_bytes = prefetch_bytes_for(planner, tiles * p.splits, lanes * 16 * p.k / p.splits);
  Addresses addresses = matmul_addresses(call);
  if (p.splits > 1) {
    const Buffer partial = planner.scratch(static_cast<uint64_t>(p.splits * p.m * p.n * 4));
    addresses.emplace_back(&p.partial, partial);
  }
  const std::string source = matmul_source(call, rows + define("LANES", lanes),
                                           {"skinny_gemm.cu", "skinny_gemm_single.cu"});
  planner.launch(source, tiles * p.splits, static_cast<int>(threads), p, addresses);
  if (p.splits > 1) {
    planner.launch(matmul_source(call, "", {"skinny_gemm_split_reduction.cu"}),
                   blocks_for(planner, p.m * p.n), kThreads, p, addresses);
  }
}

void launch_skinny_gemm(Planner& planner, const MatmulCall& call) {
  MatmulParameters& p = call.parameters;
  p.m *= call.walk.count();
  const std::string rows = define("ROWS", p.m) + define("VECTOR", vector_of(call));
  if (lies_by_rows(call)) {
    launch_by_rows(planner, call, p, rows);
  } else {
    launch_by_columns(planner, call, p, rows);
  }
}

// Several skinny GEMMs in one launch.
void launch_group(Planner& planner, const std::vector<MatmulCall>& calls) {
  const MatmulCall& first = calls.front();
  const int64_t vector = vector_of(first);
  int64_t columns = 0;
  for (const MatmulCall& call : calls) columns += call.parameters.n;
  const int64_t lanes = lanes_for(planner, columns, vector);
  MatmulGroupParameters group = {};
  Addresses addresses;
  int64_t blocks = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    MatmulParameters& p = group.matmuls[i];
    p = calls[i].parameters;
    p.tiles_n = static_cast<unsigned>(tiles_of(p.n, lanes * vector));
    p.splits = 1;
    p.prefetch_bytes =
        prefetch_bytes_for(planner, tiles_of(columns, lanes * vector), lanes * 16 * p.k);
    blocks += p.tiles_n;
    addresses.emplace_back(&p.result, calls[i].y);
    addresses.emplace_back(&p.a, calls[i].a);
    addresses.emplace_back(&p.b, calls[i].b);
    if (calls[i].bias) addresses.emplace_back(&p.c, *calls[i].bias);
  }
  planner.launch(matmul_source(first,
                               define("ROWS", first.parameters.m) + define("VECTOR", vector) +
                                   define("LANES", lanes),
                               {"skinny_gemm.cu", "skinny_gemm_group.cu"}),
                 blocks, kBlock, group, addresses);
}

using Candidates = std::vector<std::function<void()>>;

// Candidate 0 is cuBLASLt's if `has_blas`. Without cuBLASLt nothing is timed, and the last
// candidate is taken.
void plan_candidates(Planner& planner, const Candidates& candidates, bool has_blas,
                     const std::string& text, std::vector<std::string> families) {
  if (candidates.size() == 1 || !has_blas) return candidates.back()();
  for (const auto& candidate : candidates) {
    planner.begin_candidate();
    candidate();
  }
  planner.end_candidates(text, std::move(families));
}

}  // namespace

void plan_matmuls(Planner& planner, const std::vector<MatmulCall>& calls) {
  const auto all = [&](const auto& holds) {
    return calls.size() <= MOST_MATMULS && std::all_of(calls.begin(), calls.end(), holds);
  };
  const bool is_skinny =
      all([](const auto& call) { return takes_skinny_gemm(call) && lies_by_rows(call); });
  const bool is_tiles = !is_skinny && all(takes_matmul_tiles);
  if (!is_skinny && !is_tiles) {
    for (const MatmulCall& call : calls) plan_matmul(planner, call);
    return;
  }
  const bool has_blas =
      all([&](const auto& call) { return call.blas && planner.supports(*call.blas); });
  std::string text = is_skinny ? "group of skinny GEMMs 1" : "group of tiles 1";
  Candidates candidates;
  if (has_blas) {
    candidates.emplace_back([&] {
      for (const MatmulCall& call : calls) call_blas(planner, call);
    });
    for (const MatmulCall& call : calls) text += "|" + call.blas->text();
  }
  candidates.emplace_back(
      [&] { is_skinny ? launch_group(planner, calls) : launch_matmul_tiles(planner, calls); });
  // Skinny GEMMs belong to no family: the model's constant matrices and a few row counts bound
  // their number, so all of them are timed.
  plan_candidates(
      planner, candidates, has_blas, text,
      is_skinny || !has_blas ? std::vector<std::string>() : calls.front().blas->families());
}

void plan_matmul(Planner& planner, const MatmulCall& call) {
  const bool has_blas = call.blas && planner.supports(*call.blas);
  const bool is_skinny = takes_skinny_gemm(call);
  Candidates candidates;
  if (has_blas) candidates.emplace_back([&] { call_blas(planner, call); });
  if (is_skinny) candidates.emplace_back([&] { launch_skinny_gemm(planner, call); });
  if (!is_skinny && takes_matmul_tiles(call)) {
    candidates.emplace_back([&] { launch_matmul_tiles(planner, {call}); });
    if (should_split_k(planner, call))
      candidates.emplace_back([&] { launch_split_k_matmul_tiles(planner, call); });
  }
  if (candidates.empty()) return launch_simple(planner, call);
  plan_candidates(planner, candidates, has_blas,
                  has_blas ? (is_skinny ? "skinny GEMM 1|" : "tiles 1|") + call.blas->text() : "",
                  has_blas ? call.blas->families() : std::vector<std::string>());
}

}  // namespace gantry::cuda
