// SPDX-License-Identifier: Apache-2.0
// f32 attention (attention/pattern.h) in one pass. Threads divide heads and ranges of queries; each
// holds the scores of a few queries in its L1 cache. A few queries (decoding) read the keys without
// packing them.
#include "attention/attention.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <utility>

#include "attention/code.h"

namespace gantry::x86 {
namespace {

constexpr int kAttentionRank = 4;
constexpr int64_t kFewQueries = 4;  // for which keys are not packed

/// A tensor of a run by the axes of its view.
struct Strided {
  const float* data = nullptr;
  std::array<int64_t, kAttentionRank> extents{};
  std::array<int64_t, kAttentionRank> strides{};  ///< in elements
  int64_t group = 1;                              ///< heads that read one of these in succession

  /// By the four axes of a view, of which a tensor of rank 3 lacks the first.
  Strided(const float* elements, const sdk::Shape& shape, const View& view)
      : data(elements), group(view.group) {
    const int lacking = std::max(0, kAttentionRank - shape.rank);
    const auto step_along = [&](int axis) {
      int64_t step = 1;
      for (int i = shape.rank - 1; i > axis; --i) step *= shape[i];
      return step;
    };
    for (size_t i = 0; i < kAttentionRank; ++i) {
      const int axis = view.order[i] - lacking;
      extents[i] = axis < 0 ? 1 : shape[axis];
      strides[i] = step_along(axis);
    }
    if (view.picked >= 0) data += view.index * step_along(view.picked);
  }
  /// That it serves; 1: any number.
  [[nodiscard]] int64_t heads() const { return extents[1] * group; }
  /// Where batch `b` and head `h` begin; one that there is only one of serves all.
  [[nodiscard]] const float* at(int64_t b, int64_t h) const {
    return data + (extents[0] == 1 ? 0 : b * strides[0]) +
           (extents[1] == 1 ? 0 : h / group * strides[1]);
  }
  /// How many of `all` heads read one in succession.
  [[nodiscard]] int64_t readers(int64_t all) const { return extents[1] == 1 ? all : group; }
};

/// What is added to the scores, [batch, heads, queries, keys], axes that are missing or 1 serving
/// all.
struct Mask {
  const float* data = nullptr;
  std::array<int64_t, kAttentionRank> extents{1, 1, 1, 1};
  std::array<int64_t, kAttentionRank> strides{};

  Mask() = default;
  explicit Mask(const gantry_tensor& tensor) : data(static_cast<const float*>(tensor.data)) {
    const sdk::Shape shape(tensor);
    int64_t step = 1;
    for (int axis = shape.rank - 1; axis >= 0; --axis) {
      const auto i = static_cast<size_t>(axis + kAttentionRank - shape.rank);
      extents[i] = shape[axis];
      strides[i] = shape[axis] == 1 ? 0 : step;
      step *= shape[axis];
    }
  }
};

class AttentionKernel final : public sdk::Kernel {
 public:
  AttentionKernel(const KernelArgs& args, const Attention& attention)
      : attention_(attention),
        label_(args.index.node(attention.nodes.back()).label()),
        query_slot_(slot(args, attention.query.value)),
        key_slot_(slot(args, attention.key.value)),
        value_slot_(slot(args, attention.value.value)) {
    if (attention.mask != GANTRY_NONE) mask_slot_ = slot(args, attention.mask);
  }

  void run(sdk::Call& call) const override {
    const Strided query = read(call, query_slot_, attention_.query);
    const Strided key = read(call, key_slot_, attention_.key);
    const Strided value = read(call, value_slot_, attention_.value);
    const Mask mask = mask_slot_ >= 0 ? Mask(call.input(mask_slot_)) : Mask();
    const int64_t keys = visible_keys(key, mask);
    const std::array<int64_t, kAttentionRank> result = check(query, key, value, mask, keys);
    std::array<int64_t, kAttentionRank> extents{};
    for (size_t i = 0; i < kAttentionRank; ++i)
      extents[i] = result[static_cast<size_t>(attention_.target.order[i])];
    const int rank = attention_.rank;
    gantry_tensor& target =
        call.output(0, GANTRY_FLOAT, {extents.data() + (kAttentionRank - rank), rank});
    if (sdk::Shape(target).element_count() == 0) return;
    const Strided to(static_cast<const float*>(target.data), sdk::Shape(target), attention_.target);
    if (keys == 0) {  // sums of nothing
      const int64_t count = sdk::Shape(target).element_count();
      std::fill_n(static_cast<float*>(target.data), count, 0.0F);
      return;
    }
    attend_all(call, {query, key, value, mask, to, keys});
  }

 private:
  static int slot(const KernelArgs& args, uint32_t value) {
    return static_cast<int>(args.slot_of(value));
  }

  [[nodiscard]] Strided read(sdk::Call& call, int slot, const View& view) const {
    const sdk::Shape shape = call.shape(slot);
    if (view.picked >= 0 && view.index >= shape[view.picked]) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       label_ + ": index " + std::to_string(view.index) + " along axis " +
                           std::to_string(view.picked) + " is read, which has " +
                           std::to_string(shape[view.picked]) + " elements");
    }
    return {call.data<float>(slot), shape, view};
  }

  /// Number of keys that a query can see: by the operator Attention, no more than the mask has.
  [[nodiscard]] int64_t visible_keys(const Strided& key, const Mask& mask) const {
    const int64_t keys = key.extents[3];
    return attention_.is_standard && mask.data ? std::min(keys, mask.extents[3]) : keys;
  }

  /// Extents of the result. INVALID_ARGUMENT if the tensors do not fit each other.
  [[nodiscard]] std::array<int64_t, kAttentionRank> check(const Strided& query, const Strided& key,
                                                          const Strided& value, const Mask& mask,
                                                          int64_t keys) const {
    const auto fail = [&](const std::string& what) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, label_ + ": " + what);
    };
    std::array<int64_t, kAttentionRank> result{query.extents[0], query.extents[1], query.extents[2],
                                               value.extents[3]};
    for (size_t axis = 0; axis < 2; ++axis) {
      const bool is_head = axis == 1;
      for (const int64_t extent :
           {is_head ? key.heads() : key.extents[axis],
            is_head ? value.heads() : value.extents[axis], mask.extents[axis]}) {
        if (result[axis] == 1) result[axis] = extent;
        if (extent != 1 && extent != result[axis])
          fail("queries, keys, values and mask differ in axis " + std::to_string(axis));
      }
    }
    if (query.extents[3] != key.extents[2]) {
      fail("a query was expected to be as long as a key, " + std::to_string(key.extents[2]) +
           ", and is " + std::to_string(query.extents[3]));
    }
    if (key.extents[3] != value.extents[2]) {
      fail("as many values as keys were expected, " + std::to_string(key.extents[3]) +
           ", and there are " + std::to_string(value.extents[2]));
    }
    for (size_t axis = 2; axis < kAttentionRank; ++axis) {
      const int64_t scores = axis == 2 ? query.extents[2] : keys;
      if (mask.extents[axis] != 1 && mask.extents[axis] != scores) {
        fail("the mask has " + std::to_string(mask.extents[axis]) + " elements on axis " +
             std::to_string(axis) + " and the scores " + std::to_string(scores));
      }
    }
    return result;
  }

  /// Checked operands of a run.
  struct Operands {
    const Strided& query;
    const Strided& key;
    const Strided& value;
    const Mask& mask;
    const Strided& to;
    int64_t keys = 0;  ///< by visible_keys()
  };

  void attend_all(sdk::Call& call, const Operands& all) const {
    constexpr int64_t kMultipliesPerTask = 1 << 17;
    const int64_t queries = all.query.extents[2];
    const int64_t depth = all.key.extents[2];
    const int64_t heads = all.to.extents[0] * all.to.extents[1];
    const int threads = call.thread_count();
    // If there are fewer heads than threads, the queries of a head are divided.
    const int64_t stretches =
        std::clamp<int64_t>((threads + heads - 1) / heads, 1, std::max<int64_t>(1, queries / 16));
    const bool packs = queries > kFewQueries || all.key.strides[2] != 1;
    // Rows of values that are far apart are packed: each tile of queries reads all of them.
    const int64_t value_depth = all.value.extents[3];
    const bool packs_values =
        packs && queries > 2 * kMostQueries && all.value.strides[2] != value_depth;
    const int64_t packed_values = packs_values ? all.keys * value_depth : 0;
    const int64_t packed_keys = packs ? padded_keys(all.keys) * depth : 0;
    const int64_t scratch = attention_scratch(all.keys, depth) + packed_keys + packed_values;
    const int64_t tasks = heads * stretches;
    const int64_t products = std::max<int64_t>(1, queries * all.keys * depth * 2 / stretches);
    const int64_t grain = 1 + kMultipliesPerTask / products;
    const int64_t part = std::max(grain, (tasks + threads - 1) / threads);
    const int64_t parts = (tasks + part - 1) / part;
    auto* memory = call.scratch<float>(parts * scratch);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const FlushDenormals flush;
        float* own = memory + p * scratch;
        const int64_t last = std::min((p + 1) * part, tasks);
        if (packs) {
          float* values = own + packed_keys;
          attend_packed(all, stretches, {p * part, last},
                        {own, packs_values ? values : nullptr, values + packed_values});
        } else {
          attend_plain(all, p * part, last, own);
        }
      }
    });
  }

  struct Stretches {
    int64_t begin;
    int64_t end;
  };
  struct Memory {
    float* keys;
    float* values;  ///< packed values; null: values are not packed
    float* scratch;
  };

  /// Computes some ranges of queries. Keys and values are packed once for consecutive heads that
  /// share them.
  void attend_packed(const Operands& all, int64_t stretches, Stretches some,
                     const Memory& memory) const {
    const int64_t queries = all.query.extents[2];
    const int64_t heads = all.to.extents[1];
    const float* last_key = nullptr;
    const float* last_value = nullptr;
    bool are_all_finite = false;
    for (int64_t task = some.begin; task < some.end; ++task) {
      Head head = head_of(all, task / stretches / heads, task / stretches % heads);
      const bool has_other_keys = std::exchange(last_key, head.key) != head.key;
      const bool has_other_values = std::exchange(last_value, head.value) != head.value;
      if (has_other_keys) {
        pack_keys(head.key, all.key.strides[3], all.key.strides[2], all.keys, head.depth,
                  memory.keys);
      }
      head.packed_keys = memory.keys;
      if (head.mask && (has_other_keys || has_other_values)) {
        are_all_finite = are_finite(memory.keys, padded_keys(all.keys), head.depth, head.depth) &&
                         are_finite(head.value, all.keys, head.value_stride, head.value_depth);
      }
      head.are_finite = are_all_finite;
      if (memory.values) {
        if (has_other_values) {
          for (int64_t key = 0; key < all.keys; ++key) {
            std::copy_n(head.value + key * head.value_stride, head.value_depth,
                        memory.values + key * head.value_depth);
          }
        }
        head.value = memory.values;
        head.value_stride = head.value_depth;
      }
      const int64_t stretch = task % stretches;
      attend(head, stretch * queries / stretches, (stretch + 1) * queries / stretches,
             memory.scratch);
    }
  }

  /// Computes heads [begin, end) with few queries, without packing. Heads that share keys and
  /// values read them once.
  void attend_plain(const Operands& all, int64_t begin, int64_t end, float* scratch) const {
    const int64_t heads = all.to.extents[1];
    const int64_t of_key = all.key.readers(heads);
    const int64_t of_value = all.value.readers(heads);
    while (begin < end) {
      const int64_t h = begin % heads;
      const Head head = head_of(all, begin / heads, h);
      const int64_t count = std::min({end - begin, of_key - h % of_key, of_value - h % of_value});
      if (count == 1) {
        attend(head, 0, all.query.extents[2], scratch);
      } else {
        attend_together(all, head, count, scratch);
      }
      begin += count;
    }
  }

  /// Computes `count` heads from `first` on that share keys and values, one query of all heads at a
  /// time.
  static void attend_together(const Operands& all, const Head& first, int64_t count,
                              float* scratch) {
    Head rows = first;
    rows.query_stride = all.query.extents[1] == 1 ? 0 : all.query.strides[1];
    rows.mask_stride = all.mask.strides[1];
    rows.target_stride = all.to.strides[1];
    for (int64_t query = 0; query < all.query.extents[2]; ++query) {
      attend(rows, 0, count, scratch);
      rows.query += first.query_stride;
      if (rows.mask) rows.mask += first.mask_stride;
      rows.target += first.target_stride;
    }
  }

  [[nodiscard]] Head head_of(const Operands& all, int64_t b, int64_t h) const {
    Head head;
    head.keys = all.keys;
    head.depth = all.key.extents[2];
    head.value_depth = all.value.extents[3];
    head.scale = attention_.scale;
    head.query = all.query.at(b, h);
    head.query_stride = all.query.strides[2];
    head.key = all.key.at(b, h);
    head.key_stride = all.key.strides[3];
    head.value = all.value.at(b, h);
    head.value_stride = all.value.strides[2];
    if (all.mask.data) {
      head.mask = all.mask.data + b * all.mask.strides[0] + h * all.mask.strides[1];
      head.mask_stride = all.mask.strides[2];
      head.mask_step = all.mask.strides[3];
    }
    head.hides = attention_.is_standard;
    head.target = const_cast<float*>(all.to.data) + b * all.to.strides[0] + h * all.to.strides[1];
    head.target_stride = all.to.strides[2];
    return head;
  }

  Attention attention_;
  std::string label_;
  int query_slot_;
  int key_slot_;
  int value_slot_;
  int mask_slot_ = -1;
};

}  // namespace

std::unique_ptr<Fusion> match_attention(const MatchScope& scope, uint32_t root) {
  auto attention = attention_at(scope.index(), root, scope.predicate());
  if (!attention) return nullptr;
  auto fusion = std::make_unique<AttentionFusion>();
  static_cast<Fusion&>(*fusion) = single_node_fusion(scope.index(), root);
  fusion->nodes = attention->nodes;
  fusion->target.value = attention->target.value;
  fusion->attention = std::move(*attention);
  return fusion;
}

std::span<const Implementation> attention_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {
      {"blocks of queries", [](const KernelArgs& args) {
         return made<AttentionKernel>(args,
                                      static_cast<const AttentionFusion&>(args.fusion).attention);
       }}};
  return kAll;
}

}  // namespace gantry::x86
