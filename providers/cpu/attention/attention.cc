// SPDX-License-Identifier: Apache-2.0
// Attention: softmax(scale Q K^T + bias) V, by blocks of queries. Only the scores of a block are in
// memory at a time, and keys that no query of the block may attend to are skipped. 16-bit floats
// are computed in f32 and rounded once.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "attention/attention_operands.h"
#include "convert.h"
#include "dispatch.h"
#include "families.h"
#include "linear_algebra/blas.h"
#include "node_kernel.h"
#include "simd/row_math.h"

namespace gantry::cpu {
namespace {

enum Slot { kQ, kK, kV, kMask, kPastK, kPastV, kLengths };

/// Queries of a block.
constexpr int64_t kQueryBlock = 64;
/// Positions are clamped to this, so that their sums cannot overflow.
constexpr int64_t kMaxPositions = int64_t{1} << 40;

template <class C>
C largest_of(const C* x, int64_t count) {
  if constexpr (std::is_same_v<C, float>) {
    return simd::largest(x, count);
  } else {
    return count == 0 ? -std::numeric_limits<C>::infinity() : *std::max_element(x, x + count);
  }
}
/// x = exp(x - shift); returns their sum.
template <class C>
C exponentials(C* x, int64_t count, C shift) {
  if constexpr (std::is_same_v<C, float>) {
    return simd::exp_shifted(x, x, count, shift);
  } else {
    C sum = C{0};
    for (int64_t i = 0; i < count; ++i) sum += x[i] = std::exp(x[i] - shift);
    return sum;
  }
}

class Attention final : public NodeKernel {
 public:
  explicit Attention(const sdk::NodeView& node)
      : NodeKernel(node),
        is_causal_(node.get_int("is_causal", 0) != 0),
        q_heads_(node.get_int("q_num_heads", 0)),
        kv_heads_(node.get_int("kv_num_heads", 0)),
        scale_(node.get_float("scale", std::numeric_limits<float>::quiet_NaN())),
        softcap_(node.get_float("softcap", 0.0F)),
        left_(std::min(node.get_int("left_window_size", -1), kMaxPositions)),
        right_(std::min(node.get_int("right_window_size", -1), kMaxPositions)) {
    if (q_heads_ < 0 || kv_heads_ < 0 || left_ < -1 || right_ < -1) {
      node.fail(GANTRY_INVALID_MODEL,
                "the numbers of heads and the window sizes must not be "
                "negative (a window size may be -1)");
    }
  }

  void run(sdk::Call& call) const override {
    const Heads q = heads_of(call, kQ, q_heads_);
    const Heads k = heads_of(call, kK, kv_heads_);
    const Heads v = heads_of(call, kV, kv_heads_);
    const uint32_t dtype = call.input(kQ).dtype;
    check(call, q, k, v);
    Dims shape(call.shape(kQ));
    shape[shape.rank() - 1] = shape.rank() == 4 ? v.width : q.heads * v.width;
    gantry_tensor& output = call.output(0, dtype, shape.shape());
    const bool is_empty = count_of(shape.shape()) == 0;
    dispatch<FloatTypes>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const Joined<T> keys = joined<T>(call, kK, kPastK, 1, k);
      const Joined<T> values = joined<T>(call, kV, kPastV, 2, v);
      const bool is_joint = joins_as_it_attends<T>(call, q, k);
      if (!is_joint || is_empty) {
        copy_heads(call, keys);
        copy_heads(call, values);
      }
      if (!is_empty) compute<T>(call, q, keys, values, is_joint, output);
    });
  }

 private:
  /// [batch, heads, length, width], or [batch, length, heads * width].
  [[nodiscard]] Heads heads_of(sdk::Call& call, int slot, int64_t count) const {
    const sdk::Shape x = call.shape(slot);
    if (x.rank == 4) return Heads::dense(x[0], x[1], x[2], x[3]);
    if (x.rank != 3 || count < 1 || x[2] % count != 0) {
      fail("input " + std::to_string(slot) + " has shape " + to_string(x) +
           ", needs [batch, heads, "
           "length, width], or [batch, length, heads * width] and the attribute of the number of "
           "heads");
    }
    const int64_t width = x[2] / count;
    return {x[0], count, x[1], width, x[1] * x[2], width, x[2]};
  }

  void check(sdk::Call& call, const Heads& q, const Heads& k, const Heads& v) const {
    if (call.shape(kK).rank != call.shape(kQ).rank || call.shape(kV).rank != call.shape(kQ).rank ||
        k.batch != q.batch || v.batch != q.batch || k.width != q.width || v.heads != k.heads ||
        v.length != k.length || k.heads < 1 || q.heads % k.heads != 0) {
      fail("queries of shape " + to_string(call.shape(kQ)) + ", keys " + to_string(call.shape(kK)) +
           " and values " + to_string(call.shape(kV)) + " do not fit together");
    }
    for (const int slot : {kK, kV, kPastK, kPastV}) {
      if (call.has_input(slot) && call.input(slot).dtype != call.input(kQ).dtype) {
        fail("queries, keys and values must have one element type");
      }
    }
    if (call.has_input(kPastK) != call.has_input(kPastV)) {
      fail("past keys and past values must both be given");
    }
    if (call.has_input(kLengths)) {
      if (call.has_input(kPastK)) fail("nonpad_kv_seqlen cannot be combined with past keys");
      if (call.shape(kLengths).rank != 1 || call.shape(kLengths)[0] != q.batch) {
        fail("nonpad_kv_seqlen has shape " + to_string(call.shape(kLengths)) + ", needs [" +
             std::to_string(q.batch) + "]");
      }
    }
  }

  /// Past and new rows of each head, one behind the other, in output `present` if the graph uses
  /// it. Without a past and that output, the input is used in place. Nothing is copied yet.
  template <class T>
  Joined<T> joined(sdk::Call& call, int slot, int past_slot, int present,
                   const Heads& heads) const {
    const bool has_past = call.has_input(past_slot);
    Joined<T> all;
    all.added = heads;
    all.added_data = call.data<T>(slot);
    if (!has_past && !call.wants(present)) {
      all.heads = heads;
      all.data = all.added_data;
      return all;
    }
    if (has_past) {
      const sdk::Shape past = call.shape(past_slot);
      if (past.rank != 4 || past[0] != heads.batch || past[1] != heads.heads ||
          past[3] != heads.width) {
        fail("input " + std::to_string(past_slot) + " has shape " + to_string(past) + ", needs [" +
             std::to_string(heads.batch) + ", " + std::to_string(heads.heads) + ", past, " +
             std::to_string(heads.width) + "]");
      }
      all.before = past[2];
      all.past_data = call.data<T>(past_slot);
    }
    all.heads = Heads::dense(heads.batch, heads.heads, all.before + heads.length, heads.width);
    const int64_t shape[] = {heads.batch, heads.heads, all.heads.length, heads.width};
    all.target = call.wants(present)
                     ? static_cast<T*>(call.output(present, kDType<T>, {shape, 4}).data)
                     : call.scratch<T>(count_of({shape, 4}));
    all.data = all.target;
    return all;
  }

  template <class M, class C>
  static void widen_mask(const M* source, int64_t count, C* target) {
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<M, Boolean>) {
        target[i] = source[i].byte ? C{0} : -std::numeric_limits<C>::infinity();
      } else {
        target[i] = static_cast<C>(static_cast<Compute<M>>(source[i]));
      }
    }
  }

  template <class C>
  Bias<C> read_bias(sdk::Call& call, const Heads& q, int64_t keys) const {
    Bias<C> bias;
    bias.keys = keys;
    if (!call.has_input(kMask)) return bias;
    const sdk::Shape shape = call.shape(kMask);
    const int64_t expected[] = {q.batch, q.heads, q.length};
    int64_t stride = 1;
    bool fits = shape.rank >= 1 && shape.rank <= 4 && shape[shape.rank - 1] <= keys;
    for (int axis = shape.rank - 1, place = 3; fits && axis >= 0; --axis, --place) {
      if (place < 3) {
        fits = shape[axis] == 1 || shape[axis] == expected[place];
        bias.strides[place] = shape[axis] == 1 ? 0 : stride;
      }
      stride *= shape[axis];
    }
    if (!fits) {
      fail("a mask of shape " + to_string(shape) + " does not fit " + std::to_string(q.length) +
           " queries and " + std::to_string(keys) + " keys");
    }
    bias.keys = shape[shape.rank - 1];
    const int64_t count = shape.element_count();
    if (count == 0) return bias;
    const int64_t width = bias.keys;
    // Exporters also write the lowest f32 for -infinity. Beside a key that is left it counts for
    // nothing; whether there is one is known if nothing else hides keys.
    const bool hides_more = is_causal_ || left_ >= 0 || right_ >= 0 || call.has_input(kLengths);
    const C none = hides_more ? -std::numeric_limits<C>::infinity() : C{-1e30F};
    auto* data = call.scratch<C>(count);
    auto* left = call.scratch<Range>(count / width);
    dispatch<Concat<NumberTypes, TypeList<Boolean>>>(call.input(kMask).dtype, [&](auto type) {
      using M = typename decltype(type)::type;
      const M* source = call.data<M>(kMask);
      constexpr int64_t kElementsPerTask = 1 << 15;
      call.parallel_for(count / width, std::max<int64_t>(1, kElementsPerTask / width),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t row = begin; row < end; ++row) {
                            C* to = data + row * width;
                            widen_mask(source + row * width, width, to);
                            left[row] = left_by(to, width, none);
                          }
                        });
    });
    bias.data = data;
    bias.left = left;
    return bias;
  }

  /// The keys that query `i` of a batch may attend to, but for the mask.
  [[nodiscard]] Range visible(int64_t i, int64_t offset, int64_t keys) const {
    const int64_t at = i + offset;
    int64_t begin = 0;
    int64_t end = keys;
    if (is_causal_) end = std::min(end, at + 1);
    if (right_ >= 0) end = std::min(end, at + right_ + 1);
    if (left_ >= 0) begin = std::max(begin, at - left_);
    end = std::max<int64_t>(end, 0);
    return {std::min(begin, end), end};
  }

  /// The operands of a block of queries.
  template <class C>
  struct Operands {
    Heads q;
    Heads k;
    Heads v;
    Heads y;
    const C* q_data;
    const C* k_data;
    const C* v_data;
    C* y_data;
    Bias<C> bias;
    const int64_t* lengths;  ///< [batch]: keys that are not padding; null: all
    int64_t past;
    C factor;
  };

  template <class T>
  static void copy_heads(sdk::Call& call, const Joined<T>& rows) {
    const int64_t heads = rows.target ? rows.heads.batch * rows.heads.heads : 0;
    if (heads == 0) return;
    constexpr int64_t kElementsPerTask = 1 << 15;
    const int64_t elements = std::max<int64_t>(1, rows.heads.length * rows.heads.width);
    call.parallel_for(heads, std::max<int64_t>(1, kElementsPerTask / elements),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i)
                          rows.copy_head(i / rows.heads.heads, i % rows.heads.heads);
                      });
  }

  /// Whether a head's rows are joined just before its queries attend to them, while they are in the
  /// cache. Tasks are heads of keys then, of which there must be enough.
  template <class T>
  static bool joins_as_it_attends(sdk::Call& call, const Heads& q, const Heads& k) {
    return std::is_same_v<T, Compute<T>> && q.length <= kQueryBlock &&
           k.batch * k.heads >= call.thread_count();
  }

  template <class T>
  void compute(sdk::Call& call, const Heads& q, const Joined<T>& keys, const Joined<T>& values,
               bool is_joint, gantry_tensor& output) const {
    using C = Compute<T>;
    const Heads& k = keys.heads;
    const Heads& v = values.heads;
    check_gemm(kQueryBlock, k.length, std::max(k.width, v.width), label());
    Heads y = Heads::dense(q.batch, q.heads, q.length, v.width);
    if (call.shape(kQ).rank == 3) {
      y.row_stride = q.heads * v.width;
      y.head_stride = v.width;
      y.batch_stride = q.length * y.row_stride;
    }
    const double scale = std::isnan(scale_)
                             ? 1.0 / std::sqrt(std::max(static_cast<double>(q.width), 1.0))
                             : static_cast<double>(scale_);
    const Operands<C> all = {q,
                             k,
                             v,
                             y,
                             widened<T>(call, call.input(kQ)),
                             widened<T>(call, keys.data, k.batch * k.heads * k.length * k.width),
                             widened<T>(call, values.data, v.batch * v.heads * v.length * v.width),
                             wide_output<T>(call, output),
                             read_bias<C>(call, q, k.length),
                             call.has_input(kLengths) ? call.data<int64_t>(kLengths) : nullptr,
                             call.has_input(kPastK) ? call.shape(kPastK)[2] : 0,
                             static_cast<C>(scale)};
    const int64_t blocks = (q.length + kQueryBlock - 1) / kQueryBlock;
    // A unit: a block of queries of a head, or the one of all heads that share a head of keys.
    const int64_t sharing = q.heads / k.heads;
    const int64_t units = is_joint ? q.batch * k.heads : q.batch * q.heads * blocks;
    const int64_t rows = std::min(q.length, kQueryBlock);
    const int64_t work = std::max<int64_t>(rows * k.length * (k.width + v.width), 1);
    const int64_t grain = std::max<int64_t>(1, kGemmGrain / (is_joint ? work * sharing : work));
    const int64_t parts = std::clamp<int64_t>(units / grain, 1, call.thread_count());
    auto* memory = call.scratch<C>(parts * rows * k.length);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        C* scores = memory + part * rows * k.length;
        for (int64_t i = units * part / parts; i < units * (part + 1) / parts; ++i) {
          if (is_joint) {
            const int64_t b = i / k.heads;
            const int64_t kv = i % k.heads;
            keys.copy_head(b, kv);
            values.copy_head(b, kv);
            for (int64_t h = kv * sharing; h < (kv + 1) * sharing; ++h)
              attend(all, b, h, 0, scores);
          } else {
            const int64_t head = i / blocks;
            attend(all, head / q.heads, head % q.heads, i % blocks * kQueryBlock, scores);
          }
        }
      }
    });
    narrow<T>(call, all.y_data, output);
  }

  /// The block of queries of batch `b` and head `h` that starts at `first`.
  template <class C>
  void attend(const Operands<C>& all, int64_t b, int64_t h, int64_t first, C* scores) const {
    const int64_t rows = std::min(kQueryBlock, all.q.length - first);
    const int64_t kv = h / (all.q.heads / all.k.heads);
    int64_t offset = all.past;
    int64_t count = std::min(all.k.length, all.bias.keys);
    if (all.lengths) {
      const int64_t given = std::clamp<int64_t>(all.lengths[b], -kMaxPositions, kMaxPositions);
      offset = given - all.q.length;
      count = std::clamp<int64_t>(given, 0, count);
    }
    // Later queries see later keys: the block's begin with its first query's, and end with its last
    // one's.
    Range seen{visible(first, offset, count).begin, visible(first + rows - 1, offset, count).end};
    if (all.bias.left) {
      const Range left = all.bias.left_of(b, h, first, rows);
      seen = {std::max(seen.begin, left.begin), std::min(seen.end, left.end)};
    }
    C* target = all.y_data + all.y.offset(b, h) + first * all.y.row_stride;
    if (seen.is_empty()) {
      for (int64_t i = 0; i < rows; ++i) {
        std::fill_n(target + i * all.y.row_stride, all.v.width, C{0});
      }
      return;
    }
    const int64_t keys = seen.end - seen.begin;
    GemmArgs<C> scores_args;
    scores_args.transpose_b = true;
    scores_args.m = rows;
    scores_args.n = keys;
    scores_args.k = all.q.width;
    scores_args.alpha = all.factor;
    scores_args.a = all.q_data + all.q.offset(b, h) + first * all.q.row_stride;
    scores_args.lda = std::max<int64_t>(all.q.row_stride, 1);
    scores_args.b = all.k_data + all.k.offset(b, kv) + seen.begin * all.k.row_stride;
    scores_args.ldb = std::max<int64_t>(all.k.row_stride, 1);
    scores_args.c = scores;
    scores_args.ldc = keys;
    gemm_serial(scores_args);
    for (int64_t i = 0; i < rows; ++i) {
      const C* added = all.bias.data ? all.bias.row(b, h, first + i) + seen.begin : nullptr;
      const Range own = visible(first + i, offset, count);
      const int64_t begin = std::clamp(own.begin, seen.begin, seen.end) - seen.begin;
      const int64_t end = std::clamp(own.end, seen.begin, seen.end) - seen.begin;
      softmax(scores + i * keys, keys, {std::min(begin, end), end}, added);
    }
    GemmArgs<C> values_args;
    values_args.m = rows;
    values_args.n = all.v.width;
    values_args.k = keys;
    values_args.a = scores;
    values_args.lda = keys;
    values_args.b = all.v_data + all.v.offset(b, kv) + seen.begin * all.v.row_stride;
    values_args.ldb = std::max<int64_t>(all.v.row_stride, 1);
    values_args.c = target;
    values_args.ldc = std::max<int64_t>(all.y.row_stride, 1);
    gemm_serial(values_args);
  }

  /// Softmax in place. Scores outside `range` and scores of -infinity become 0; a row without other
  /// scores becomes 0.
  template <class C>
  void softmax(C* x, int64_t count, Range range, const C* bias) const {
    constexpr C kNone = -std::numeric_limits<C>::infinity();
    std::fill(x, x + range.begin, C{0});
    std::fill(x + range.end, x + count, C{0});
    C* row = x + range.begin;
    const int64_t left = range.end - range.begin;
    if (softcap_ > 0) {
      const C cap = static_cast<C>(softcap_);
      for (int64_t i = 0; i < left; ++i) row[i] = std::tanh(row[i] / cap) * cap;
    }
    for (int64_t i = 0; bias && i < left; ++i) {
      const C own = bias[range.begin + i];
      row[i] = own == kNone ? kNone : row[i] + own;
    }
    const C largest = largest_of(row, left);
    if (largest == kNone) {
      std::fill_n(row, left, C{0});
      return;
    }
    const C factor = C{1} / exponentials(row, left, largest);
    for (int64_t i = 0; i < left; ++i) row[i] *= factor;
  }

  bool is_causal_;
  int64_t q_heads_;
  int64_t kv_heads_;
  float scale_;  // NaN: by the width
  float softcap_;
  int64_t left_;
  int64_t right_;
};

/// Refuses the forms that the ONNX function body computes instead.
std::string check_form(const sdk::NodeView& node) {
  if (node.output(3).present()) return "the scores are wanted as an output";
  if (node.input(kV).dtype() != node.input(kQ).dtype()) {
    return "queries and values have different element types";
  }
  const bool is_double = node.get_int("softmax_precision", GANTRY_FLOAT) == GANTRY_DOUBLE;
  if (is_double && node.input(kQ).dtype() != GANTRY_DOUBLE) return "the softmax is wanted in f64";
  return {};
}

constexpr sdk::KernelRow kAttentionRows[] = {
    {"Attention", 23, sdk::kLatest, sdk::kFloats, sdk::make<Attention>, {}, check_form},
};

}  // namespace

sdk::KernelTable attention_kernels() { return sdk::table(kAttentionRows); }

}  // namespace gantry::cpu
