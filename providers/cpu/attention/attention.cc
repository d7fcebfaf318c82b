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

#include "convert.h"
#include "dispatch.h"
#include "families.h"
#include "linear_algebra/blas.h"
#include "node_kernel.h"
#include "simd/row_math.h"
#include "tensor/strided_copy.h"

namespace gantry::cpu {
namespace {

enum Slot { kQ, kK, kV, kMask, kPastK, kPastV, kLengths };

/// Queries of a block.
constexpr int64_t kQueryBlock = 64;
/// Positions are clamped to this, so that their sums cannot overflow.
constexpr int64_t kMaxPositions = int64_t{1} << 40;

/// Layout of an operand: [batch, heads, length, width] with strides in elements; rows are dense.
struct Heads {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t length = 0;
  int64_t width = 0;
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t row_stride = 0;

  [[nodiscard]] int64_t offset(int64_t b, int64_t h) const {
    return b * batch_stride + h * head_stride;
  }
  /// Dense, in this order.
  static Heads dense(int64_t batch, int64_t heads, int64_t length, int64_t width) {
    return {batch, heads, length, width, heads * length * width, length * width, width};
  }
};

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

/// The additive mask of the scores, broadcast to [batch, heads, queries, keys].
template <class C>
struct Bias {
  const C* data = nullptr;
  int64_t strides[3] = {0, 0, 0};  ///< of batch, head and query
  int64_t keys = 0;                ///< keys from this index on are masked

  [[nodiscard]] const C* row(int64_t b, int64_t h, int64_t q) const {
    return data + b * strides[0] + h * strides[1] + q * strides[2];
  }
};

class Attention final : public NodeKernel {
 public:
  explicit Attention(const sdk::NodeView& node)
      : NodeKernel(node),
        is_causal_(node.get_int("is_causal", 0) != 0),
        q_heads_(node.get_int("q_num_heads", 0)),
        kv_heads_(node.get_int("kv_num_heads", 0)),
        scale_(node.get_float("scale", 0.0F)),
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
      Heads all_k = k;
      Heads all_v = v;
      const T* keys = joined<T>(call, kK, kPastK, 1, all_k);
      const T* values = joined<T>(call, kV, kPastV, 2, all_v);
      if (!is_empty) compute<T>(call, q, all_k, all_v, keys, values, output);
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

  /// Concatenates past and new rows of each head, into output `present` if the graph uses it, and
  /// sets `heads` to the layout of the result. Without a past and that output, the input is used in
  /// place.
  template <class T>
  const T* joined(sdk::Call& call, int slot, int past_slot, int present, Heads& heads) const {
    const bool has_past = call.has_input(past_slot);
    if (!has_past && !call.wants(present)) return call.data<T>(slot);
    int64_t before = 0;
    if (has_past) {
      const sdk::Shape past = call.shape(past_slot);
      if (past.rank != 4 || past[0] != heads.batch || past[1] != heads.heads ||
          past[3] != heads.width) {
        fail("input " + std::to_string(past_slot) + " has shape " + to_string(past) + ", needs [" +
             std::to_string(heads.batch) + ", " + std::to_string(heads.heads) + ", past, " +
             std::to_string(heads.width) + "]");
      }
      before = past[2];
    }
    const Heads all = Heads::dense(heads.batch, heads.heads, before + heads.length, heads.width);
    const int64_t shape[] = {all.batch, all.heads, all.length, all.width};
    const int64_t count = count_of({shape, 4});
    T* target = call.wants(present)
                    ? static_cast<T*>(call.output(present, kDType<T>, {shape, 4}).data)
                    : call.scratch<T>(count);
    const int64_t to[] = {all.batch_stride, all.head_stride, all.row_stride, 1};
    if (before > 0) {
      const int64_t from[] = {all.heads * before * all.width, before * all.width, all.width, 1};
      copy_strided(call, sizeof(T), call.shape(past_slot), call.data<T>(past_slot), from, target,
                   to);
    }
    if (heads.length > 0) {
      const int64_t from[] = {heads.batch_stride, heads.head_stride, heads.row_stride, 1};
      const int64_t extents[] = {heads.batch, heads.heads, heads.length, heads.width};
      copy_strided(call, sizeof(T), {extents, 4}, call.data<T>(slot), from,
                   target + before * all.width, to);
    }
    heads = all;
    return target;
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
    auto* data = call.scratch<C>(count);
    dispatch<Concat<NumberTypes, TypeList<Boolean>>>(call.input(kMask).dtype, [&](auto type) {
      using M = typename decltype(type)::type;
      const M* source = call.data<M>(kMask);
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<M, Boolean>) {
          data[i] = source[i].byte ? C{0} : -std::numeric_limits<C>::infinity();
        } else {
          data[i] = static_cast<C>(static_cast<Compute<M>>(source[i]));
        }
      }
    });
    bias.data = data;
    return bias;
  }

  /// The keys that query `i` of a batch may attend to: [begin, end).
  struct Range {
    int64_t begin;
    int64_t end;
  };
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
  void compute(sdk::Call& call, const Heads& q, const Heads& k, const Heads& v, const T* keys,
               const T* values, gantry_tensor& output) const {
    using C = Compute<T>;
    check_gemm(kQueryBlock, k.length, std::max(k.width, v.width), label());
    Heads y = Heads::dense(q.batch, q.heads, q.length, v.width);
    if (call.shape(kQ).rank == 3) {
      y.row_stride = q.heads * v.width;
      y.head_stride = v.width;
      y.batch_stride = q.length * y.row_stride;
    }
    const double scale = scale_ != 0 ? static_cast<double>(scale_)
                                     : 1.0 / std::sqrt(std::max(static_cast<double>(q.width), 1.0));
    const Operands<C> all = {q,
                             k,
                             v,
                             y,
                             widened<T>(call, call.input(kQ)),
                             widened<T>(call, keys, k.batch * k.heads * k.length * k.width),
                             widened<T>(call, values, v.batch * v.heads * v.length * v.width),
                             wide_output<T>(call, output),
                             read_bias<C>(call, q, k.length),
                             call.has_input(kLengths) ? call.data<int64_t>(kLengths) : nullptr,
                             call.has_input(kPastK) ? call.shape(kPastK)[2] : 0,
                             static_cast<C>(scale)};
    const int64_t blocks = (q.length + kQueryBlock - 1) / kQueryBlock;
    const int64_t units = q.batch * q.heads * blocks;
    const int64_t rows = std::min(q.length, kQueryBlock);
    const int64_t work = std::max<int64_t>(rows * k.length * (k.width + v.width), 1);
    const int64_t grain = std::max<int64_t>(1, kGemmGrain / work);
    const int64_t parts = std::clamp<int64_t>(units / grain, 1, call.thread_count());
    auto* memory = call.scratch<C>(parts * rows * k.length);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        C* scores = memory + part * rows * k.length;
        for (int64_t i = units * part / parts; i < units * (part + 1) / parts; ++i) {
          const int64_t head = i / blocks;
          attend(all, head / q.heads, head % q.heads, i % blocks * kQueryBlock, scores);
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
    // Later queries see later keys, so the last one's end is the block's.
    const int64_t seen = visible(first + rows - 1, offset, count).end;
    C* target = all.y_data + all.y.offset(b, h) + first * all.y.row_stride;
    if (seen == 0) {
      for (int64_t i = 0; i < rows; ++i) {
        std::fill_n(target + i * all.y.row_stride, all.v.width, C{0});
      }
      return;
    }
    GemmArgs<C> scores_args;
    scores_args.transpose_b = true;
    scores_args.m = rows;
    scores_args.n = seen;
    scores_args.k = all.q.width;
    scores_args.alpha = all.factor;
    scores_args.a = all.q_data + all.q.offset(b, h) + first * all.q.row_stride;
    scores_args.lda = std::max<int64_t>(all.q.row_stride, 1);
    scores_args.b = all.k_data + all.k.offset(b, kv);
    scores_args.ldb = std::max<int64_t>(all.k.row_stride, 1);
    scores_args.c = scores;
    scores_args.ldc = seen;
    gemm_serial(scores_args);
    for (int64_t i = 0; i < rows; ++i) {
      const C* added = all.bias.data ? all.bias.row(b, h, first + i) : nullptr;
      softmax(scores + i * seen, seen, visible(first + i, offset, count), added);
    }
    GemmArgs<C> values_args;
    values_args.m = rows;
    values_args.n = all.v.width;
    values_args.k = seen;
    values_args.a = scores;
    values_args.lda = seen;
    values_args.b = all.v_data + all.v.offset(b, kv);
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
  float scale_;
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
