// SPDX-License-Identifier: Apache-2.0
#include "operators/linear_algebra/matmul_tiles.h"

#include <algorithm>

namespace gantry::cuda {
namespace {

constexpr int64_t kChunk = 8;  // elements of a vector access

// Tile of a block. Several blocks fit into a multiprocessor's shared memory. A larger tile reads
// less; a smaller one gives more blocks.
struct TileSize {
  int64_t m, n, k;
  int64_t stages;
  int64_t warps_m, warps_n;

  [[nodiscard]] int64_t threads() const { return warps_m * warps_n * 32; }
  [[nodiscard]] int64_t down(const MatmulCall& call) const {
    return (call.parameters.m + m - 1) / m;
  }
  [[nodiscard]] int64_t across(const MatmulCall& call) const {
    return (call.parameters.n + n - 1) / n;
  }
  [[nodiscard]] int64_t blocks(const MatmulCall& call) const {
    return down(call) * across(call) * call.walk.count();
  }
};

constexpr TileSize kSizes[] = {
    {128, 128, 32, 3, 2, 4}, {128, 64, 32, 4, 4, 2}, {64, 64, 64, 3, 2, 2},
    {64, 32, 64, 4, 2, 2},   {32, 32, 64, 4, 2, 2},
};
constexpr TileSize kSharedSize = {64, 64, 64, 3, 2, 2};
constexpr int64_t kLeastStrips = 4;  // strips per split of the inner axis, at least
constexpr int64_t kMostShares = 16;

// The largest tile that leaves a block for each multiprocessor and is not more than half empty.
const TileSize& size_for(const Planner& planner, const std::vector<MatmulCall>& calls) {
  for (const TileSize& size : kSizes) {
    int64_t blocks = 0;
    for (const MatmulCall& call : calls) blocks += size.blocks(call);
    if (blocks >= planner.multiprocessors && size.m < 2 * calls.front().parameters.m) return size;
  }
  return *(std::end(kSizes) - 1);
}

int64_t shares_of(const Planner& planner, const MatmulCall& call) {
  const int64_t strips = (call.parameters.k + kSharedSize.k - 1) / kSharedSize.k;
  const int64_t blocks = kSharedSize.blocks(call);
  const int64_t wanted = (planner.multiprocessors + blocks - 1) / blocks;
  return std::min({wanted, strips / kLeastStrips, kMostShares});
}

bool has_transposed_b(const MatmulCall& call) { return call.parameters.b_column != 1; }

std::string define(const char* name, int64_t value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}

std::string source_of(const MatmulCall& call, const TileSize& size, const char* last) {
  return matmul_source(call,
                       define("TILE_M", size.m) + define("TILE_N", size.n) +
                           define("TILE_K", size.k) + define("STAGES", size.stages) +
                           define("WARPS_M", size.warps_m) + define("WARPS_N", size.warps_n) +
                           define("B_ALONG", has_transposed_b(call) ? 1 : 0) +
                           define("BATCH_RANK", call.walk.rank()),
                       {"tensor_cores.cu", "matmul_epilogue_vector.cu", "matmul_tiles.cu", last});
}

void set_tiles(const Planner& planner, MatmulParameters& p, const MatmulCall& call,
               const TileSize& size, int64_t shares = 1) {
  p.tiles_m = static_cast<unsigned>(size.down(call));
  p.tiles_n = static_cast<unsigned>(size.across(call));
  p.splits = static_cast<int>(shares);
  p.prefetch_bytes =
      prefetch_bytes_for(planner, size.across(call) * shares, size.n * p.k * 2 / shares);
}

bool is_whole(int64_t elements) { return elements % kChunk == 0; }

}  // namespace

bool takes_matmul_tiles(const MatmulCall& call) {
  const MatmulParameters& p = call.parameters;
  const bool is_half = call.dtype == GANTRY_FLOAT16 || call.dtype == GANTRY_BFLOAT16;
  const bool is_contiguous = p.a_column == 1 && (p.b_column == 1 || p.b_row == 1);
  if (!is_half || !is_contiguous || p.k < kChunk || !is_whole(p.k) || !is_whole(p.n) ||
      !is_whole(p.a_row) || !is_whole(p.b_column == 1 ? p.b_row : p.b_column))
    return false;
  for (const Buffer& buffer : {call.a, call.b, call.y}) {
    if (buffer.offset_bytes % (2 * kChunk) != 0) return false;
  }
  return std::all_of(call.walk.strides.begin(), call.walk.strides.end(), [](const auto& strides) {
    return std::all_of(strides.begin(), strides.end(), is_whole);
  });
}

void launch_matmul_tiles(Planner& planner, const std::vector<MatmulCall>& calls) {
  const MatmulCall& first = calls.front();
  const TileSize& size = size_for(planner, calls);
  const auto threads = static_cast<int>(size.threads());
  if (calls.size() == 1) {
    set_tiles(planner, first.parameters, first, size);
    planner.launch(source_of(first, size, "matmul_tiles_single.cu"), size.blocks(first), threads,
                   first.parameters, matmul_addresses(first));
    return;
  }
  MatmulGroupParameters group = {};
  std::vector<std::pair<const void* const*, Buffer>> addresses;
  int64_t blocks = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    MatmulParameters& p = group.matmuls[i];
    p = calls[i].parameters;
    set_tiles(planner, p, calls[i], size);
    blocks += size.blocks(calls[i]);
    const MatmulCall moved = {
        p, calls[i].walk, calls[i].dtype, calls[i].y, calls[i].a, calls[i].b, {}, {}, {}, {}, {}};
    for (const auto& address : matmul_addresses(moved)) addresses.push_back(address);
    if (calls[i].bias) addresses.emplace_back(&p.c, *calls[i].bias);
  }
  planner.launch(source_of(first, size, "matmul_tiles_group.cu"), blocks, threads, group,
                 addresses);
}

bool should_split_k(const Planner& planner, const MatmulCall& call) {
  return call.walk.count() == 1 && shares_of(planner, call) > 1;
}

void launch_split_k_matmul_tiles(Planner& planner, const MatmulCall& call) {
  MatmulParameters& p = call.parameters;
  set_tiles(planner, p, call, kSharedSize, shares_of(planner, call));
  auto addresses = matmul_addresses(call);
  addresses.emplace_back(
      &p.partial, planner.scratch(static_cast<uint64_t>(p.splits * p.m * p.n) * sizeof(float)));
  planner.launch(source_of(call, kSharedSize, "matmul_tiles_single.cu"),
                 kSharedSize.blocks(call) * p.splits, static_cast<int>(kSharedSize.threads()), p,
                 addresses);
  planner.launch(
      matmul_source(call, "", {"matmul_epilogue_vector.cu", "matmul_tiles_split_reduction.cu"}),
      blocks_for(planner, p.m * p.n / kChunk), kThreads, p, addresses);
}

}  // namespace gantry::cuda
