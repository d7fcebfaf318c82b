// SPDX-License-Identifier: Apache-2.0
// GroupQueryAttention (com.microsoft 1) of f32: groups of query heads share a head of keys and
// values, whose cache is updated in place where the host grants it. A single new token, as in
// decoding, is a skinny GEMM of the group's queries; more are computed by blocks of queries. The
// forms that this kernel refuses have a function body.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "attention/group_query_inputs.h"
#include "families.h"
#include "linear_algebra/blas.h"
#include "linear_algebra/skinny_gemm.h"
#include "node_kernel.h"
#include "simd/row_math.h"

namespace gantry::cpu {
namespace {

/// Queries of a block, if there are several.
constexpr int64_t kRowBlock = 64;

/// Heads of new tokens: head h of a token is at offset h * width of its row.
struct NewRows {
  const float* data = nullptr;
  int64_t row_stride = 0;  ///< from token to token of [batch, length, ...]

  [[nodiscard]] const float* head(int64_t token, int64_t h, int64_t width) const {
    return data + token * row_stride + h * width;
  }
};

/// A cache, [batch, kv_heads, capacity, width], and what it is made from.
struct Cache {
  NewRows fresh;
  const float* past = nullptr;  ///< [batch, kv_heads, before, width]; null: none
  float* present = nullptr;
  int64_t before = 0;
  int64_t capacity = 0;
  int64_t width = 0;

  [[nodiscard]] float* head(int64_t index) const { return present + index * capacity * width; }
};

/// What is added to the scores, [batch or 1, heads or 1, length, total].
struct ScoreBias {
  const float* data = nullptr;  ///< null: nothing
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
};

/// Keys that a query sees: [begin, end).
struct KeyRange {
  int64_t begin;
  int64_t end;
};

class GroupQueryAttention final : public NodeKernel {
 public:
  explicit GroupQueryAttention(const sdk::NodeView& node)
      : NodeKernel(node),
        heads_(node.get_int("num_heads", 0)),
        kv_heads_(node.get_int("kv_num_heads", 0)),
        window_(node.get_int("local_window_size", -1)),
        is_rotated_(node.get_int("do_rotary", 0) != 0),
        is_interleaved_(node.get_int("rotary_interleaved", 0) != 0),
        is_smooth_(node.get_int("smooth_softmax", 0) > 0),
        scale_(node.get_float("scale", 0)),
        softcap_(node.get_float("softcap", 0)) {}

  void run(sdk::Call& call) const override {
    Step step;
    find_new_rows(call, step);
    find_positions(call, step);
    find_rotation(call, step);
    find_bias_and_sinks(call, step);
    const int64_t y_shape[] = {step.batch, step.length, heads_ * step.values.width};
    const sdk::Shape y{y_shape, 3};
    static_cast<void>(count_of(y));  // fails if it is too large
    step.y = static_cast<float*>(call.output(0, GANTRY_FLOAT, y).data);
    find_cache(call, kPastKey, 1, step, step.keys);
    find_cache(call, kPastValue, 2, step, step.values);
    update_caches(call, step);
    if (step.batch * step.length > 0) attend(call, step);
  }

 private:
  using enum GroupQuery::Input;

  /// A run: `batch` sequences get `length` tokens each.
  struct Step {
    int64_t batch = 0;
    int64_t length = 0;
    int64_t width = 0;  ///< of a head of queries and keys
    NewRows queries;
    Cache keys;
    Cache values;
    int64_t total = 0;                   ///< keys of the longest sequence
    int64_t* starts = nullptr;           ///< [batch]: position of the first new token
    const float* cosines = nullptr;      ///< [positions, pairs]
    const float* sines = nullptr;        ///< likewise
    const int64_t* positions = nullptr;  ///< [batch, length], for the rotation; null: from starts
    int64_t pairs = 0;                   ///< of a head that are rotated
    ScoreBias bias;
    const float* sinks = nullptr;  ///< [heads]: scores of a key of no value; null: none
    float* y = nullptr;            ///< [batch, length, heads, width of values]
  };

  void find_new_rows(sdk::Call& call, Step& step) const {
    const sdk::Shape query = call.shape(kQuery);
    const bool is_packed = !call.has_input(kKey);
    const int64_t all_heads = is_packed ? heads_ + 2 * kv_heads_ : heads_;
    if (query.rank != 3 || query[2] < 1 || query[2] % all_heads != 0) {
      fail("query has shape " + to_string(query) + ", needs [batch, length, " +
           std::to_string(all_heads) + " heads * width]");
    }
    step.batch = query[0];
    step.length = query[1];
    step.width = step.keys.width = step.values.width = query[2] / all_heads;
    step.queries = {call.data<float>(kQuery), query[2]};
    if (is_packed) {
      step.keys.fresh = {step.queries.data + heads_ * step.width, query[2]};
      step.values.fresh = {step.queries.data + (heads_ + kv_heads_) * step.width, query[2]};
      return;
    }
    for (const int slot : {kKey, kValue}) {
      const sdk::Shape shape = call.shape(slot);
      const bool fits = shape.rank == 3 && shape[0] == step.batch && shape[1] == step.length &&
                        shape[2] > 0 && shape[2] % kv_heads_ == 0 &&
                        (slot == kValue || shape[2] == kv_heads_ * step.width);
      if (!fits) {
        fail("input " + std::to_string(slot) + " has shape " + to_string(shape) + ", needs [" +
             std::to_string(step.batch) + ", " + std::to_string(step.length) + ", " +
             std::to_string(kv_heads_) + " heads * width]");
      }
      Cache& cache = slot == kKey ? step.keys : step.values;
      cache.width = shape[2] / kv_heads_;
      cache.fresh = {call.data<float>(slot), shape[2]};
    }
  }

  void find_positions(sdk::Call& call, Step& step) const {
    if (call.shape(kLastKeys).element_count() != step.batch) {
      fail("seqlens_k has shape " + to_string(call.shape(kLastKeys)) + ", needs [" +
           std::to_string(step.batch) + "]");
    }
    step.total = read_int(call, kTotal);
    if (step.total < 0)
      fail("total_sequence_length is " + std::to_string(step.total) + ", needs 0 or more");
    const auto* last_keys = call.data<int32_t>(kLastKeys);
    step.starts = call.scratch<int64_t>(step.batch);
    for (int64_t b = 0; b < step.batch; ++b) {
      const bool is_prompt = step.length == step.total;
      step.starts[b] = is_prompt ? 0 : int64_t{last_keys[b]} + 1 - step.length;
    }
  }

  void find_rotation(sdk::Call& call, Step& step) const {
    if (!is_rotated_) return;
    const sdk::Shape table = call.shape(kCosines);
    if (table.rank != 2 || table != call.shape(kSines) || 2 * table[1] > step.width) {
      fail("cos_cache and sin_cache have shapes " + to_string(table) + " and " +
           to_string(call.shape(kSines)) + ", need [positions, at most " +
           std::to_string(step.width / 2) + "]");
    }
    step.cosines = call.data<float>(kCosines);
    step.sines = call.data<float>(kSines);
    step.pairs = table[1];
    if (call.has_input(kPositions)) {
      if (call.shape(kPositions).element_count() != step.batch * step.length) {
        fail("position_ids have shape " + to_string(call.shape(kPositions)) + ", need [" +
             std::to_string(step.batch) + ", " + std::to_string(step.length) + "]");
      }
      step.positions = call.data<int64_t>(kPositions);
    }
    for (int64_t b = 0; b < step.batch; ++b) {
      for (int64_t i = 0; i < step.length; ++i) {
        const int64_t position = angle_of(step, b, i);
        if (position >= 0 && position < table[0]) continue;
        fail("position " + std::to_string(position) + " is outside cos_cache of " +
             std::to_string(table[0]) + " positions");
      }
    }
  }

  void find_bias_and_sinks(sdk::Call& call, Step& step) const {
    if (call.has_input(kSinks)) {
      if (call.shape(kSinks).element_count() != heads_) {
        fail("head_sink has shape " + to_string(call.shape(kSinks)) + ", needs [" +
             std::to_string(heads_) + "]");
      }
      step.sinks = call.data<float>(kSinks);
    }
    if (!call.has_input(kBias)) return;
    const sdk::Shape shape = call.shape(kBias);
    const auto is_one_or = [&](int axis, int64_t extent) {
      return shape[axis] == 1 || shape[axis] == extent;
    };
    if (shape.rank != 4 || !is_one_or(0, step.batch) || !is_one_or(1, heads_) ||
        shape[2] != step.length || shape[3] != step.total) {
      fail("attention_bias has shape " + to_string(shape) + ", needs [" +
           std::to_string(step.batch) + " or 1, " + std::to_string(heads_) + " or 1, " +
           std::to_string(step.length) + ", " + std::to_string(step.total) + "]");
    }
    const int64_t of_head = step.length * step.total;
    step.bias = {call.data<float>(kBias), shape[0] == 1 ? 0 : shape[1] * of_head,
                 shape[1] == 1 ? 0 : of_head};
  }

  static int64_t angle_of(const Step& step, int64_t b, int64_t token) {
    return step.positions ? step.positions[b * step.length + token] : step.starts[b] + token;
  }

  void find_cache(sdk::Call& call, int past, int present, const Step& step, Cache& cache) const {
    if (call.has_input(past)) {
      const sdk::Shape shape = call.shape(past);
      if (shape.rank != 4 || shape[0] != step.batch || shape[1] != kv_heads_ ||
          shape[3] != cache.width) {
        fail("input " + std::to_string(past) + " has shape " + to_string(shape) + ", needs [" +
             std::to_string(step.batch) + ", " + std::to_string(kv_heads_) + ", past, " +
             std::to_string(cache.width) + "]");
      }
      cache.before = shape[2];
      cache.past = call.data<float>(past);
    }
    cache.capacity = std::max(cache.before, step.total);
    for (int64_t b = 0; b < step.batch && step.length > 0; ++b) {
      if (step.starts[b] >= 0 && step.starts[b] + step.length <= cache.capacity) continue;
      fail("seqlens_k puts the new tokens of sequence " + std::to_string(b) + " at " +
           std::to_string(step.starts[b]) + " to " +
           std::to_string(step.starts[b] + step.length - 1) + ", outside a cache of " +
           std::to_string(cache.capacity) + " tokens");
    }
    const int64_t shape[] = {step.batch, kv_heads_, cache.capacity, cache.width};
    const int64_t count = count_of({shape, 4});
    cache.present = call.wants(present)
                        ? static_cast<float*>(call.output(present, GANTRY_FLOAT, {shape, 4}).data)
                        : call.scratch<float>(count);
  }

  void update_caches(sdk::Call& call, const Step& step) const {
    constexpr int64_t kFloatsPerTask = 1 << 14;
    const bool moves =
        step.keys.present != step.keys.past || step.values.present != step.values.past;
    const int64_t rows = moves ? step.keys.capacity : step.length;
    const int64_t work = std::max<int64_t>(rows * (step.keys.width + step.values.width), 1);
    call.parallel_for(step.batch * kv_heads_, std::max<int64_t>(1, kFloatsPerTask / work),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t head = begin; head < end; ++head) {
                          // If one tensor is the past of both and the present of one, the other
                          // replaces the rows that this one has changed.
                          update(step, step.keys, head, is_rotated_);
                          update(step, step.values, head, false);
                        }
                      });
  }

  /// Brings the past and the new tokens of head `index` of [batch, kv_heads] into the present.
  void update(const Step& step, const Cache& cache, int64_t index, bool is_rotated) const {
    float* rows = cache.head(index);
    if (cache.present != cache.past) {
      const int64_t kept = cache.before * cache.width;
      if (kept > 0) std::copy_n(cache.past + index * kept, kept, rows);
      std::fill(rows + kept, rows + cache.capacity * cache.width, 0.0F);
    }
    const int64_t b = index / kv_heads_;
    for (int64_t i = 0; i < step.length; ++i) {
      const float* fresh = cache.fresh.head(b * step.length + i, index % kv_heads_, cache.width);
      float* row = rows + (step.starts[b] + i) * cache.width;
      if (is_rotated) {
        rotate(step, angle_of(step, b, i), fresh, row);
      } else {
        std::copy_n(fresh, cache.width, row);
      }
    }
  }

  void rotate(const Step& step, int64_t position, const float* __restrict x,
              float* __restrict y) const {
    const float* cosines = step.cosines + position * step.pairs;
    const float* sines = step.sines + position * step.pairs;
    const auto pair = [&](int64_t i, int64_t first, int64_t second) {
      y[first] = x[first] * cosines[i] - x[second] * sines[i];
      y[second] = x[first] * sines[i] + x[second] * cosines[i];
    };
    if (is_interleaved_) {
      for (int64_t i = 0; i < step.pairs; ++i) pair(i, 2 * i, 2 * i + 1);
    } else {
      for (int64_t i = 0; i < step.pairs; ++i) pair(i, i, i + step.pairs);
    }
    std::copy(x + 2 * step.pairs, x + step.width, y + 2 * step.pairs);
  }

  [[nodiscard]] KeyRange visible(const Step& step, int64_t position) const {
    const int64_t end = std::min(position + 1, step.total);
    const int64_t begin = window_ > 0 ? std::max<int64_t>(position + 1 - window_, 0) : 0;
    return {std::min(begin, end), end};
  }

  /// A task: rows of queries that meet the keys of one head: all heads of a group with one token,
  /// or one head with a block of tokens.
  void attend(sdk::Call& call, const Step& step) const {
    const int64_t group = heads_ / kv_heads_;
    const bool is_one = step.length == 1;
    const int64_t blocks = (step.length + kRowBlock - 1) / kRowBlock;
    const int64_t rows = is_one ? group : std::min(step.length, kRowBlock);
    const int64_t tasks = is_one ? step.batch * kv_heads_ : step.batch * heads_ * blocks;
    check_gemm(rows, step.total, std::max(step.width, step.values.width), label());
    const int64_t work = std::max<int64_t>(rows * step.total * (step.width + step.values.width), 1);
    const int64_t grain = std::max<int64_t>(1, kGemmGrain / 4 / work);
    const int64_t parts = std::clamp<int64_t>(tasks / grain, 1, call.thread_count());
    const int64_t floats = rows * (step.width + step.total);
    auto* memory = call.scratch<float>(parts * floats);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        float* queries = memory + part * floats;
        float* scores = queries + rows * step.width;
        for (int64_t task = tasks * part / parts; task < tasks * (part + 1) / parts; ++task) {
          if (is_one) {
            attend_group(step, task, queries, scores);
          } else {
            const int64_t head = task / blocks;
            attend_block(step, head / heads_, head % heads_, task % blocks * kRowBlock, queries,
                         scores);
          }
        }
      }
    });
  }

  /// `row` = the query of a token and a head, rotated and scaled.
  void load_query(const Step& step, int64_t b, int64_t token, int64_t h, float* row) const {
    const float* query = step.queries.head(b * step.length + token, h, step.width);
    if (is_rotated_) {
      rotate(step, angle_of(step, b, token), query, row);
    } else {
      std::copy_n(query, step.width, row);
    }
    const auto width = static_cast<float>(std::max<int64_t>(step.width, 1));
    const float scale = scale_ != 0 ? scale_ : 1.0F / std::sqrt(width);
    for (int64_t i = 0; i < step.width; ++i) row[i] *= scale;
  }

  /// The heads of group `index` of [batch, kv_heads], whose one token has the same range of keys.
  void attend_group(const Step& step, int64_t index, float* queries, float* scores) const {
    constexpr int64_t kKeysAtOnce = 128;  // stay in the L1 cache
    const int64_t b = index / kv_heads_;
    const int64_t group = heads_ / kv_heads_;
    const int64_t first = index % kv_heads_ * group;
    const KeyRange range = visible(step, step.starts[b]);
    const int64_t count = range.end - range.begin;
    const int64_t width = step.values.width;
    float* y = step.y + (b * heads_ + first) * width;
    std::fill_n(y, group * width, 0.0F);
    for (int64_t g = 0; g < group; ++g) load_query(step, b, 0, first + g, queries + g * step.width);
    std::fill_n(scores, group * count, 0.0F);
    const float* keys = step.keys.head(index) + range.begin * step.width;
    for (int64_t key = 0; key < count; key += kKeysAtOnce) {
      simd::add_skinny_gemm(queries, keys + key * step.width, scores + key, group,
                            std::min(kKeysAtOnce, count - key), step.width, count);
    }
    for (int64_t g = 0; g < group; ++g) softmax(step, b, first + g, 0, range, scores + g * count);
    simd::add_skinny_gemm_of_rows(scores, step.values.head(index) + range.begin * width, y, group,
                                  width, count);
  }

  /// A block of tokens of batch `b` and head `h`, from token `first` on.
  void attend_block(const Step& step, int64_t b, int64_t h, int64_t first, float* queries,
                    float* scores) const {
    const int64_t rows = std::min(kRowBlock, step.length - first);
    const int64_t index = b * kv_heads_ + h / (heads_ / kv_heads_);
    const int64_t width = step.values.width;
    const int64_t position = step.starts[b] + first;
    const int64_t begin = visible(step, position).begin;  // later queries see later keys
    const int64_t seen = visible(step, position + rows - 1).end - begin;
    float* y = step.y + ((b * step.length + first) * heads_ + h) * width;
    if (seen == 0) {
      for (int64_t i = 0; i < rows; ++i) std::fill_n(y + i * heads_ * width, width, 0.0F);
      return;
    }
    for (int64_t i = 0; i < rows; ++i) load_query(step, b, first + i, h, queries + i * step.width);
    GemmArgs<float> args;
    args.transpose_b = true;
    args.m = rows;
    args.n = seen;
    args.k = step.width;
    args.a = queries;
    args.lda = step.width;
    args.b = step.keys.head(index) + begin * step.width;
    args.ldb = step.width;
    args.c = scores;
    args.ldc = seen;
    gemm_serial(args);
    for (int64_t i = 0; i < rows; ++i) {
      const KeyRange range = visible(step, position + i);
      float* row = scores + i * seen;
      std::fill(row, row + range.begin - begin, 0.0F);
      softmax(step, b, h, first + i, range, row + range.begin - begin);
      std::fill(row + range.end - begin, row + seen, 0.0F);
    }
    args.transpose_b = false;
    args.n = width;
    args.k = seen;
    args.a = scores;
    args.lda = seen;
    args.b = step.values.head(index) + begin * width;
    args.ldb = width;
    args.c = y;
    args.ldc = heads_ * width;
    gemm_serial(args);
  }

  /// Weights from scores, in place: those of a token and a head for the keys of `range`.
  void softmax(const Step& step, int64_t b, int64_t h, int64_t token, KeyRange range,
               float* x) const {
    const int64_t count = range.end - range.begin;
    if (count == 0) return;
    if (softcap_ > 0) {
      for (int64_t i = 0; i < count; ++i) x[i] = std::tanh(x[i] / softcap_) * softcap_;
    }
    if (step.bias.data) {
      const float* bias = step.bias.data + b * step.bias.batch_stride + h * step.bias.head_stride +
                          token * step.total + range.begin;
      for (int64_t i = 0; i < count; ++i) x[i] += bias[i];
    }
    float largest = simd::largest(x, count);
    const bool has_sink = step.sinks || is_smooth_;
    const float sink = step.sinks ? step.sinks[h] : 0.0F;
    if (has_sink) largest = std::max(largest, sink);
    const float sum = simd::exp_shifted(x, x, count, largest);
    const float weight_of_sink = has_sink ? std::exp(sink - largest) : 0.0F;
    simd::affine(x, x, count, 1.0F / (sum + weight_of_sink), 0.0F);
  }

  int64_t heads_;
  int64_t kv_heads_;
  int64_t window_;  ///< keys that a query sees, with its own; -1: all
  bool is_rotated_;
  bool is_interleaved_;
  bool is_smooth_;  ///< with a sink of score 0
  float scale_;
  float softcap_;
};

/// The caches are updated in place.
constexpr sdk::Marks kCaches = {.later_overwrites = {uint64_t{1} << GroupQuery::kPastKey,
                                                     uint64_t{1} << GroupQuery::kPastValue}};

constexpr sdk::KernelRow kGroupQueryAttentionRows[] = {
    {"GroupQueryAttention", 1, sdk::kLatest, sdk::dtypes(GANTRY_FLOAT),
     sdk::make<GroupQueryAttention>, kCaches, GroupQuery::refusal, "com.microsoft"},
};

}  // namespace

sdk::KernelTable group_query_attention_kernels() { return sdk::table(kGroupQueryAttentionRows); }

}  // namespace gantry::cpu
