// SPDX-License-Identifier: Apache-2.0
// MatMul, scale, mask, Softmax, MatMul of f32 with the Transposes around them, in one pass: heads
// and stretches of queries are parted among the threads, each of which has the scores of a few
// queries in its nearest cache. A few queries (decoding) read the keys as they stand.
#include "kernels/attention.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>

#include "attention/code.h"

namespace gantry::onednn {
namespace {

constexpr int kRank = 4;
constexpr int64_t kFewQueries = 4;  // for which keys are not packed

/// A tensor of a run by the axes of its view.
struct Strided {
  const float* data = nullptr;
  std::array<int64_t, kRank> extents{};
  std::array<int64_t, kRank> strides{};  ///< in elements

  /// `order`: by the four axes of a view, of which a tensor of rank 3 lacks the first.
  Strided(const float* elements, const sdk::Shape& shape, const std::array<int, kRank>& order)
      : data(elements) {
    std::array<int64_t, kRank> wide{1, 1, 1, 1};
    std::copy(shape.data, shape.data + shape.rank, wide.end() - shape.rank);
    std::array<int64_t, kRank> dense{};
    int64_t step = 1;
    for (size_t axis = kRank; axis-- > 0;) {
      dense[axis] = step;
      step *= wide[axis];
    }
    for (size_t i = 0; i < kRank; ++i) {
      extents[i] = wide[static_cast<size_t>(order[i])];
      strides[i] = dense[static_cast<size_t>(order[i])];
    }
  }
  /// Where batch `b` and head `h` begin; one that there is only one of serves all.
  [[nodiscard]] const float* at(int64_t b, int64_t h) const {
    return data + (extents[0] == 1 ? 0 : b * strides[0]) + (extents[1] == 1 ? 0 : h * strides[1]);
  }
};

/// What is added to the scores, [batch, heads, queries, keys], axes that are missing or 1 serving
/// all.
struct Mask {
  const float* data = nullptr;
  std::array<int64_t, kRank> extents{1, 1, 1, 1};
  std::array<int64_t, kRank> strides{};

  Mask() = default;
  explicit Mask(const gantry_tensor& tensor) : data(static_cast<const float*>(tensor.data)) {
    const sdk::Shape shape(tensor);
    int64_t step = 1;
    for (int axis = shape.rank - 1; axis >= 0; --axis) {
      const auto i = static_cast<size_t>(axis + kRank - shape.rank);
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
    const std::array<int64_t, kRank> result = check(query, key, value, mask);
    std::array<int64_t, kRank> extents{};
    for (size_t i = 0; i < kRank; ++i)
      extents[i] = result[static_cast<size_t>(attention_.target.order[i])];
    const int rank = attention_.rank;
    gantry_tensor& target = call.output(0, GANTRY_FLOAT, {extents.data() + (kRank - rank), rank});
    if (sdk::Shape(target).element_count() == 0) return;
    const Strided to(static_cast<const float*>(target.data), sdk::Shape(target),
                     attention_.target.order);
    if (key.extents[3] == 0) {  // sums of nothing
      const int64_t count = sdk::Shape(target).element_count();
      std::fill_n(static_cast<float*>(target.data), count, 0.0F);
      return;
    }
    attend_all(call, query, key, value, mask, to);
  }

 private:
  static int slot(const KernelArgs& args, uint32_t value) {
    return static_cast<int>(args.slot_of(value));
  }

  [[nodiscard]] static Strided read(sdk::Call& call, int slot, const View& view) {
    return {call.data<float>(slot), call.shape(slot), view.order};
  }

  /// Extents of the result. Throws if the tensors do not fit each other.
  [[nodiscard]] std::array<int64_t, kRank> check(const Strided& query, const Strided& key,
                                                 const Strided& value, const Mask& mask) const {
    const auto fail = [&](const std::string& what) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, label_ + ": " + what);
    };
    std::array<int64_t, kRank> result{query.extents[0], query.extents[1], query.extents[2],
                                      value.extents[3]};
    for (size_t axis = 0; axis < 2; ++axis) {
      for (const int64_t extent : {key.extents[axis], value.extents[axis], mask.extents[axis]}) {
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
    for (size_t axis = 2; axis < kRank; ++axis) {
      const int64_t scores = axis == 2 ? query.extents[2] : key.extents[3];
      if (mask.extents[axis] != 1 && mask.extents[axis] != scores) {
        fail("the mask has " + std::to_string(mask.extents[axis]) + " elements on axis " +
             std::to_string(axis) + " and the scores " + std::to_string(scores));
      }
    }
    return result;
  }

  void attend_all(sdk::Call& call, const Strided& query, const Strided& key, const Strided& value,
                  const Mask& mask, const Strided& to) const {
    constexpr int64_t kProductsPerTask = 1 << 17;
    const int64_t queries = query.extents[2];
    const int64_t keys = key.extents[3];
    const int64_t depth = key.extents[2];
    const int64_t heads = to.extents[1];
    const int64_t all = to.extents[0] * heads;
    const int threads = call.thread_count();
    // Stretches of a head where there are fewer heads than threads.
    const int64_t stretches =
        std::clamp<int64_t>((threads + all - 1) / all, 1, std::max<int64_t>(1, queries / 16));
    const bool packs = queries > kFewQueries || key.strides[2] != 1;
    const int64_t packed = packs ? padded_keys(keys) * depth : 0;
    const int64_t scratch = attention_scratch(keys) + packed;
    const int64_t tasks = all * stretches;
    const int64_t products = std::max<int64_t>(1, queries * keys * depth * 2 / stretches);
    const int64_t grain = 1 + kProductsPerTask / products;
    const int64_t part = std::max(grain, (tasks + threads - 1) / threads);
    const int64_t parts = (tasks + part - 1) / part;
    auto* memory = call.scratch<float>(parts * scratch);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const FlushDenormals flush;
        float* own = memory + p * scratch;
        for (int64_t task = p * part; task < std::min((p + 1) * part, tasks); ++task) {
          const int64_t b = task / stretches / heads;
          const int64_t h = task / stretches % heads;
          Head head = head_of(query, key, value, mask, to, b, h);
          if (packs) {
            if (task == p * part || task % stretches == 0)
              pack_keys(head.key, key.strides[3], key.strides[2], keys, depth, own);
            head.packed_keys = own;
          }
          const int64_t stretch = task % stretches;
          attend(head, stretch * queries / stretches, (stretch + 1) * queries / stretches,
                 own + packed);
        }
      }
    });
  }

  [[nodiscard]] Head head_of(const Strided& query, const Strided& key, const Strided& value,
                             const Mask& mask, const Strided& to, int64_t b, int64_t h) const {
    Head head;
    head.keys = key.extents[3];
    head.depth = key.extents[2];
    head.value_depth = value.extents[3];
    head.scale = attention_.scale;
    head.query = query.at(b, h);
    head.query_stride = query.strides[2];
    head.key = key.at(b, h);
    head.key_stride = key.strides[3];
    head.value = value.at(b, h);
    head.value_stride = value.strides[2];
    if (mask.data) {
      head.mask = mask.data + b * mask.strides[0] + h * mask.strides[1];
      head.mask_stride = mask.strides[2];
      head.mask_step = mask.strides[3];
    }
    head.target = const_cast<float*>(to.data) + b * to.strides[0] + h * to.strides[1];
    head.target_stride = to.strides[2];
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

std::unique_ptr<sdk::Kernel> make_attention(const KernelArgs& args, const Attention& attention) {
  return std::make_unique<AttentionKernel>(args, attention);
}

}  // namespace gantry::onednn
