// SPDX-License-Identifier: Apache-2.0
#include "attention_call.h"

#include <algorithm>

#include "../kernel_texts.h"
#include "../stream.h"

namespace gantry::cuda {
namespace {

using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

constexpr int kStrip = 128;        // keys at a time, at least
constexpr int kWidestStrip = 512;  // of few queries, which then need no second launch
constexpr int64_t kMostSplits = 64;
constexpr int64_t kMostScoreBytes = int64_t{1} << 30;
constexpr int64_t kMostTileWidth = 128;  // of heads whose sums a warp's registers hold

std::string define(const char* name, int value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}

// The source of a kernel: what its text takes as given, and the texts of these files.
std::string source_of(const AttentionCall& call, const std::string& defines,
                      std::initializer_list<const char*> files) {
  std::string body = "\ntypedef " + type_name(call.dtype) + " T;\ntypedef " + type_name(call.mask) +
                     " M;\ntypedef " + computed_name(call.dtype) + " C;\n" +
                     define("MASK_KIND", call.mask_kind) + defines;
  for (const char* file : files) body += kernel_text(file);
  return kernel_source({"attention.h", "block.cu", "attention_place.cu"}, body);
}

bool is_dense(const HeadStrides& strides, int64_t heads, int64_t length, int64_t width) {
  return strides.row == width && strides.head == length * width &&
         strides.batch == heads * length * width;
}

// [batch, heads, length, width] as it is, or as a copy without gaps.
Buffer dense(Planner& planner, uint32_t dtype, const Buffer& source, const HeadStrides& strides,
             const Extents& shape) {
  if (is_dense(strides, shape[1], shape[2], shape[3])) return source;
  const Buffer made = planner.scratch(static_cast<uint64_t>(count_of(shape) * bytes_of(dtype)));
  plan_copy(planner, shape, bytes_of(dtype), made, dense_strides(shape), source,
            {strides.batch, strides.head, strides.row, 1});
  return made;
}

// Elements that are read as one, 16 bytes of them.
int vector_of(uint32_t dtype) { return static_cast<int>(16 / bytes_of(dtype)); }

bool is_wide(const HeadStrides& strides, int64_t vector) {
  return strides.batch % vector == 0 && strides.head % vector == 0 && strides.row % vector == 0;
}

// Whether every row of keys and values begins at a multiple of 16 bytes and is one long.
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

void call_product(Planner& planner, const ProductShape& shape, const Buffer& a, const Buffer& b,
                  const Buffer& y) {
  planner.call(
      {y, planner.scratch(kBlasWorkspaceBytes), a, b}, [shape](Stream& stream, void* const* at) {
        stream.device().blas()->run(shape, stream, at[2], at[3], nullptr, nullptr, at[0], at[1]);
      });
}

// The two products of attention. Queries that share keys are rows of one; scores are not rounded to
// 16 bits.
struct Products {
  ProductShape scores;  // queries by keys
  ProductShape sums;    // what the softmax makes of them by values
  /// Heads of the tensors are matrices as they lie, one stride apart: they are multiplied so. Else
  /// they are brought together first.
  bool lies_well;

  Products(const AttentionCall& call, bool rounds_to_tf32) {
    const AttentionParameters& p = call.parameters;
    lies_well = p.batch == 1 && p.q_heads == p.kv_heads && !is_whole(p) && !call.is_partly_filled;
    scores.dtype = call.dtype;
    scores.result_dtype = GANTRY_FLOAT;
    scores.m = int64_t{p.q_heads / p.kv_heads} * p.q_length;
    scores.n = p.k_length;
    scores.k = p.width;
    scores.b_is_transposed = true;
    scores.batch = p.batch * p.kv_heads;
    scores.a_batch_stride = lies_well ? p.q.head : scores.m * scores.k;
    scores.b_batch_stride = lies_well ? p.k.head : scores.n * scores.k;
    scores.alpha = p.scale;
    scores.rounds_to_tf32 = sums.rounds_to_tf32 = rounds_to_tf32;
    sums.dtype = sums.result_dtype = call.dtype;
    sums.m = scores.m;
    sums.n = p.v_width;
    sums.k = p.k_length;
    sums.batch = scores.batch;
    sums.a_batch_stride = sums.m * sums.k;
    sums.b_batch_stride = lies_well ? p.v.head : sums.n * sums.k;
    if (!lies_well) return;
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

// Values of which a product reads all, so that what is behind a row's last must be numbers.
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

Operands operands_of(Planner& planner, const AttentionCall& call, bool lies_well) {
  if (lies_well) return {call.queries, call.keys, call.values};
  const AttentionParameters& p = call.parameters;
  const auto together = [&](const Buffer& source, const HeadStrides& strides, int64_t heads,
                            int64_t length, int64_t width) {
    return dense(planner, call.dtype, source, strides, {p.batch, heads, length, width});
  };
  return {together(call.queries, p.q, p.q_heads, p.q_length, p.width),
          together(call.keys, p.k, p.kv_heads, p.k_length, p.width),
          call.is_partly_filled ? filled_values(planner, call)
                                : together(call.values, p.v, p.kv_heads, p.k_length, p.v_width)};
}

void plan_by_strips(Planner& planner, const AttentionCall& call) {
  AttentionParameters& p = call.parameters;
  const int64_t queries = p.batch * p.q_heads * p.q_length;
  // As many blocks as keep the device busy, each with a strip of keys at least. What a block reads
  // at once needs no second launch.
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
  planner.launch(source_of(call, "", {"attention_join.cu"}), queries, kStrip, p,
                 {{&p.partial, partial}, {&p.result, call.result}});
}

// How the warps of a block share its queries and keys. The fewer blocks there are, the more of them
// have the same queries.
struct TileWarps {
  int64_t queries;  // groups of 16
  int64_t keys;
  int64_t strip;  // keys at a time

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

// False, and nothing is planned: there are few queries, or tensor cores do not take the heads.
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

// False, and nothing is planned: cuBLASLt is not there, the scores are too few or too many, or the
// past lies by itself.
bool plan_by_products(Planner& planner, const AttentionCall& call) {
  AttentionParameters& p = call.parameters;
  const int64_t queries = p.batch * p.q_heads * p.q_length;
  const int64_t scores_bytes = queries * p.k_length * 4;
  if (p.q_length < kLeastQueriesOfProducts || p.k_past > 0 || p.k_length < 1 || p.width < 1 ||
      p.v_width < 1 || call.dtype == GANTRY_DOUBLE || scores_bytes > kMostScoreBytes)
    return false;
  const Products products(call, planner.rounds_to_tf32());
  if (!planner.supports(products.scores) || !planner.supports(products.sums)) return false;
  const Operands at = operands_of(planner, call, products.lies_well);
  const Buffer scores = planner.scratch(static_cast<uint64_t>(scores_bytes));
  call_product(planner, products.scores, at.q, at.k, scores);
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
  const bool lies_alike = products.lies_well || is_dense(p.y, p.q_heads, p.q_length, p.v_width);
  const Buffer y =
      lies_alike ? call.result
                 : planner.scratch(static_cast<uint64_t>(count_of(y_shape) * bytes_of(call.dtype)));
  call_product(planner, products.sums, weights, at.v, y);
  if (!lies_alike) {
    plan_copy(planner, y_shape, bytes_of(call.dtype), call.result,
              {p.y.batch, p.y.head, p.y.row, 1}, y, dense_strides(y_shape));
  }
  return true;
}

}  // namespace

bool takes_tiles(uint32_t dtype, const AttentionParameters& p) {
  constexpr int64_t kVector = 8;
  return (dtype == GANTRY_FLOAT16 || dtype == GANTRY_BFLOAT16) &&
         p.q_length >= kLeastQueriesOfProducts && p.width >= 1 && p.v_width >= 1 &&
         std::max(p.width, p.v_width) <= kMostTileWidth && p.width % kVector == 0 &&
         p.v_width % kVector == 0 && is_wide(p.q, kVector) && is_wide(p.k, kVector) &&
         is_wide(p.v, kVector) && is_wide(p.y, 2);
}

void AttentionCall::read_past(const PlacedHeads& past_keys, const PlacedHeads& past_values) {
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
  if (plan_by_tiles(planner, call) || plan_by_products(planner, call)) return;
  plan_by_strips(planner, call);
}

}  // namespace gantry::cuda
