// SPDX-License-Identifier: Apache-2.0
#include "operators/attention/attention_call.h"

#include <algorithm>

#include "compile/kernel_texts.h"
#include "plan/execution_device.h"

namespace gantry::cuda {
namespace {

using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

constexpr int kStrip = 128;        // least number of keys per strip
constexpr int kWidestStrip = 512;  // keys per strip of few queries, so that one strip holds all
                                   // keys and no split reduction is launched
constexpr int64_t kMostSplits = 64;
constexpr int64_t kMostScoreBytes = int64_t{1} << 30;
constexpr int64_t kMostTileWidth =
    128;  // limit of the head width: a warp's registers hold a row of sums

std::string define(const char* name, int value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}

// The source of a kernel: its definitions, then the texts of `files`.
std::string source_of(const AttentionCall& call, const std::string& defines,
                      std::initializer_list<const char*> files) {
  std::string body = "\ntypedef " + type_name(call.dtype) + " T;\ntypedef " + type_name(call.mask) +
                     " M;\ntypedef " + computed_name(call.dtype) + " C;\n" +
                     define("MASK_KIND", call.mask_kind) + defines;
  for (const char* file : files) body += kernel_text(file);
  return kernel_source({"attention.h", "block_reduce.cu", "attention_position.cu"}, body);
}

bool is_dense(const HeadStrides& strides, int64_t heads, int64_t length, int64_t width) {
  return strides.row == width && strides.head == length * width &&
         strides.batch == heads * length * width;
}

// A tensor [batch, heads, length, width] as it is, or a dense copy.
Buffer dense(Planner& planner, uint32_t dtype, const Buffer& source, const HeadStrides& strides,
             const Extents& shape) {
  if (is_dense(strides, shape[1], shape[2], shape[3])) return source;
  const Buffer made = planner.scratch(static_cast<uint64_t>(count_of(shape) * bytes_of(dtype)));
  plan_copy(planner, shape, bytes_of(dtype), made, dense_strides(shape), source,
            {strides.batch, strides.head, strides.row, 1});
  return made;
}

// Elements of a 16-byte vector access.
int vector_of(uint32_t dtype) { return static_cast<int>(16 / bytes_of(dtype)); }

bool is_wide(const HeadStrides& strides, int64_t vector) {
  return strides.batch % vector == 0 && strides.head % vector == 0 && strides.row % vector == 0;
}

// Whether every row of keys and values is aligned to 16 bytes and a multiple of 16 bytes long.
bool is_wide(const AttentionCall& call) {
  const AttentionParameters& p = call.parameters;
  const int64_t vector = vector_of(call.dtype);
  return call.dtype != GANTRY_DOUBLE && p.width >= 1 && p.v_width >= 1 && p.width % vector == 0 &&
         p.v_width % vector == 0 && is_wide(p.k, vector) && is_wide(p.v, vector) &&
         is_wide(p.past_k, vector) && is_wide(p.past_v, vector);
}

std::string strips_source(const AttentionCall& call, int strip) {
  const AttentionParameters& p = call.parameters;
  const std::string defines = define("STRIP", strip) + define("SPLITS", p.splits > 1 ? 1 : 0);
  if (is_wide(call)) {
    return source_of(call,
                     defines + define("VECTOR", vector_of(call.dtype)) + define("WIDTH", p.width) +
                         define("V_WIDTH", p.v_width),
                     {"attention_range.cu", "attention_strips.cu", "attention_wide.cu"});
  }
  const int widest = std::max({p.width, p.v_width, 1});
  return source_of(call, defines + define("MOST_WIDTH", (widest + kStrip - 1) / kStrip * kStrip),
                   {"attention_range.cu", "attention_strips.cu", "attention.cu"});
}

void call_matmul(Planner& planner, const MatmulShape& shape, const Buffer& a, const Buffer& b,
                 const Buffer& y) {
  planner.call({y, planner.scratch(kBlasWorkspaceBytes), a, b},
               [shape](Stream& stream, void* const* at) {
                 ExecutionDevice::of(stream).blas()->run(shape, stream, at[2], at[3], nullptr,
                                                         nullptr, at[0], at[1]);
               });
}

// The two matmuls of attention. Queries that share keys are rows of one matrix; scores are f32.
struct AttentionMatmuls {
  MatmulShape scores;  // queries times keys, transposed
  MatmulShape sums;    // probabilities times values
  /// The heads of the tensors are matrices with one stride between them, so they are multiplied in
  /// place; false: they are copied first.
  bool is_in_place;

  AttentionMatmuls(const AttentionCall& call, bool rounds_to_tf32) {
    const AttentionParameters& p = call.parameters;
    is_in_place = p.batch == 1 && p.q_heads == p.kv_heads && !is_whole(p) && !call.is_partly_filled;
    scores.dtype = call.dtype;
    scores.result_dtype = GANTRY_FLOAT;
    scores.m = int64_t{p.q_heads / p.kv_heads} * p.q_length;
    scores.n = p.k_length;
    scores.k = p.width;
    scores.b_is_transposed = true;
    scores.batch = p.batch * p.kv_heads;
    scores.a_batch_stride = is_in_place ? p.q.head : scores.m * scores.k;
    scores.b_batch_stride = is_in_place ? p.k.head : scores.n * scores.k;
    scores.alpha = p.scale;
    scores.rounds_to_tf32 = sums.rounds_to_tf32 = rounds_to_tf32;
    sums.dtype = sums.result_dtype = call.dtype;
    sums.m = scores.m;
    sums.n = p.v_width;
    sums.k = p.k_length;
    sums.batch = scores.batch;
    sums.a_batch_stride = sums.m * sums.k;
    sums.b_batch_stride = is_in_place ? p.v.head : sums.n * sums.k;
    if (!is_in_place) return;
    scores.a_row = p.q.row;
    scores.b_row = p.k.row;
    sums.b_row = p.v.row;
    sums.y_row = p.y.row;
    sums.y_batch_stride = p.y.head;
  }

 private:
  static bool is_whole(const AttentionParameters& p) {
    return is_dense(p.q, p.q_heads, p.q_length, p.width) &&
           is_dense(p.k, p.kv_heads, p.k_length, p.width) &&
           is_dense(p.v, p.kv_heads, p.k_length, p.v_width) &&
           is_dense(p.y, p.q_heads, p.q_length, p.v_width);
  }
};

// Copies values for a matmul that reads the full capacity, and fills the rows behind the last key:
// garbage times 0 may be NaN.
Buffer filled_values(Planner& planner, const AttentionCall& call) {
  const AttentionParameters& p = call.parameters;
  const int64_t count = p.batch * p.kv_heads * p.k_length * p.v_width;
  const Buffer made = planner.scratch(static_cast<uint64_t>(count * bytes_of(call.dtype)));
  Addresses addresses = call.more;
  addresses.emplace_back(&p.values, call.values);
  addresses.emplace_back(&p.result, made);
  planner.launch(
      source_of(call, define("KEYS", kStrip), {"attention_range.cu", "attention_values.cu"}),
      p.batch * p.kv_heads * ((p.k_length + kStrip - 1) / kStrip), kThreads, p, addresses);
  return made;
}

struct Operands {
  Buffer q, k, v;
};

Operands operands_of(Planner& planner, const AttentionCall& call, bool is_in_place) {
  if (is_in_place) return {call.queries, call.keys, call.values};
  const AttentionParameters& p = call.parameters;
  const auto packed = [&](const Buffer& source, const HeadStrides& strides, int64_t heads,
                          int64_t length, int64_t width) {
    return dense(planner, call.dtype, source, strides, {p.batch, heads, length, width});
  };
  return {packed(call.queries, p.q, p.q_heads, p.q_length, p.width),
          packed(call.keys, p.k, p.kv_heads, p.k_length, p.width),
          call.is_partly_filled ? filled_values(planner, call)
                                : packed(call.values, p.v, p.kv_heads, p.k_length, p.v_width)};
}

void plan_by_strips(Planner& planner, const AttentionCall& call) {
  AttentionParameters& p = call.parameters;
  const int64_t queries = p.batch * p.q_heads * p.q_length;
  // Enough blocks to fill the device, each with at least one strip of keys. One block per query
  // needs no split reduction.
  const int64_t wanted = (2 * planner.multiprocessors + queries - 1) / queries;
  int strip = kStrip;
  if (wanted > 1 && p.k_length <= kWidestStrip && is_wide(call)) {
    while (strip < p.k_length) strip *= 2;
  }
  const int64_t strips = (p.k_length + strip - 1) / strip;
  p.splits = static_cast<int>(std::max<int64_t>(1, std::min({wanted, strips, kMostSplits})));
  Addresses addresses = call.more;
  addresses.emplace_back(&p.queries, call.queries);
  addresses.emplace_back(&p.keys, call.keys);
  addresses.emplace_back(&p.values, call.values);
  Buffer partial;
  if (p.splits > 1) {
    const int64_t bytes = call.dtype == GANTRY_DOUBLE ? 8 : 4;
    partial = planner.scratch(static_cast<uint64_t>(queries * p.splits * (p.v_width + 2) * bytes));
    addresses.emplace_back(&p.partial, partial);
  } else {
    addresses.emplace_back(&p.result, call.result);
  }
  planner.launch(strips_source(call, strip), queries * p.splits, strip, p, addresses);
  if (p.splits == 1) return;
  planner.launch(source_of(call, "", {"attention_split_reduction.cu"}), queries, kStrip, p,
                 {{&p.partial, partial}, {&p.result, call.result}});
}

// How the warps of a block share its queries and keys. The fewer blocks there are, the more warps
// work on the same queries.
struct TileWarps {
  int64_t queries;  // groups of 16 queries
  int64_t keys;
  int64_t strip;  // keys per step

  TileWarps(const AttentionParameters& p, int64_t multiprocessors)
      : queries(4), keys(1), strip(64) {
    while (queries > 1 && blocks(p) < multiprocessors) {
      queries /= 2;
      keys *= 2;
    }
    if (queries == 1 && std::max(p.width, p.v_width) <= kMostTileWidth / 2) strip = 128;
  }
  [[nodiscard]] int64_t blocks(const AttentionParameters& p) const {
    return p.batch * p.q_heads * ((p.q_length + 16 * queries - 1) / (16 * queries));
  }
};

// False, and nothing is planned: there are too few queries, or the head width does not fit tensor
// cores.
bool plan_by_tiles(Planner& planner, const AttentionCall& call) {
  const AttentionParameters& p = call.parameters;
  if (!takes_tiles(call.dtype, p)) return false;
  const TileWarps warps(p, planner.multiprocessors);
  Addresses addresses = call.more;
  addresses.emplace_back(&p.queries, call.queries);
  addresses.emplace_back(&p.keys, call.keys);
  addresses.emplace_back(&p.values, call.values);
  addresses.emplace_back(&p.result, call.result);
  const std::string defines = define("STRIP", static_cast<int>(warps.strip)) +
                              define("WIDTH", p.width) + define("V_WIDTH", p.v_width) +
                              define("QUERY_WARPS", static_cast<int>(warps.queries)) +
                              define("KEY_WARPS", static_cast<int>(warps.keys));
  planner.launch(
      source_of(call, defines, {"attention_range.cu", "tensor_cores.cu", "attention_tiles.cu"}),
      warps.blocks(p), static_cast<int>(warps.queries * warps.keys) * 32, p, addresses);
  return true;
}

// False, and nothing is planned: cuBLASLt is unavailable, there are too few or too many scores, or
// the past is a separate tensor.
bool plan_by_matmuls(Planner& planner, const AttentionCall& call) {
  AttentionParameters& p = call.parameters;
  const int64_t queries = p.batch * p.q_heads * p.q_length;
  const int64_t scores_bytes = queries * p.k_length * 4;
  if (p.q_length < kLeastQueriesForMatmuls || p.k_past > 0 || p.k_length < 1 || p.width < 1 ||
      p.v_width < 1 || call.dtype == GANTRY_DOUBLE || scores_bytes > kMostScoreBytes)
    return false;
  const AttentionMatmuls matmuls(call, planner.rounds_to_tf32());
  if (!planner.supports(matmuls.scores) || !planner.supports(matmuls.sums)) return false;
  const Operands at = operands_of(planner, call, matmuls.is_in_place);
  const Buffer scores = planner.scratch(static_cast<uint64_t>(scores_bytes));
  call_matmul(planner, matmuls.scores, at.q, at.k, scores);
  const Buffer weights =
      call.dtype == GANTRY_FLOAT
          ? scores
          : planner.scratch(static_cast<uint64_t>(queries * p.k_length * bytes_of(call.dtype)));
  Addresses addresses = call.more;
  addresses.emplace_back(&p.partial, scores);
  addresses.emplace_back(&p.result, weights);
  planner.launch(source_of(call, "", {"attention_range.cu", "attention_softmax.cu"}), queries,
                 threads_for_row(p.k_length), p, addresses);
  const Extents y_shape = {p.batch, p.q_heads, p.q_length, p.v_width};
  const bool is_same_layout =
      matmuls.is_in_place || is_dense(p.y, p.q_heads, p.q_length, p.v_width);
  const Buffer y =
      is_same_layout
          ? call.result
          : planner.scratch(static_cast<uint64_t>(count_of(y_shape) * bytes_of(call.dtype)));
  call_matmul(planner, matmuls.sums, weights, at.v, y);
  if (!is_same_layout) {
    plan_copy(planner, y_shape, bytes_of(call.dtype), call.result,
              {p.y.batch, p.y.head, p.y.row, 1}, y, dense_strides(y_shape));
  }
  return true;
}

}  // namespace

bool takes_tiles(uint32_t dtype, const AttentionParameters& p) {
  constexpr int64_t kVector = 8;
  return (dtype == GANTRY_FLOAT16 || dtype == GANTRY_BFLOAT16) &&
         p.q_length >= kLeastQueriesForMatmuls && p.width >= 1 && p.v_width >= 1 &&
         std::max(p.width, p.v_width) <= kMostTileWidth && p.width % kVector == 0 &&
         p.v_width % kVector == 0 && is_wide(p.q, kVector) && is_wide(p.k, kVector) &&
         is_wide(p.v, kVector) && is_wide(p.y, 2);
}

void AttentionCall::read_past(const HeadsBuffer& past_keys, const HeadsBuffer& past_values) {
  AttentionParameters& p = parameters;
  p.k_past = static_cast<int>(past_keys.heads.length);
  p.past_k = past_keys.heads.strides;
  p.past_v = past_values.heads.strides;
  p.k_length += p.k_past;
  p.key_limit = p.k_length;
  more.emplace_back(&p.past_keys, past_keys.at);
  more.emplace_back(&p.past_values, past_values.at);
}

void AttentionCall::add_to_scores(const Planner& planner, int slot) {
  AttentionParameters& p = parameters;
  const Extents& shape = planner.shape(slot);
  const HeadStrides strides = score_strides(shape, p, "what is added to scores");
  p.added_batch = strides.batch;
  p.added_head = strides.head;
  p.added_row = strides.row;
  p.key_limit = std::min(p.key_limit, static_cast<int>(shape.back()));
  more.emplace_back(&p.added, Planner::in(slot));
}

void plan_attention(Planner& planner, AttentionCall& call) {
  if (plan_by_tiles(planner, call) || plan_by_matmuls(planner, call)) return;
  plan_by_strips(planner, call);
}

}  // namespace gantry::cuda
