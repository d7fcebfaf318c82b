// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding (opset 23): rotates pairs of elements of each head by the angle of their
// position. 16-bit floats are computed in f32 and rounded once.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Least number of elements for a thread.
constexpr int64_t kRotaryEmbeddingGrain = 16384;

class RotaryEmbedding final : public NodeKernel {
 public:
  explicit RotaryEmbedding(const sdk::NodeView& node)
      : NodeKernel(node),
        is_interleaved_(node.get_int("interleaved", 0) != 0),
        heads_(node.get_int("num_heads", 0)),
        rotated_(node.get_int("rotary_embedding_dim", 0)) {}

  void run(sdk::Call& call) const override {
    const Layout layout = measure(call);
    const uint32_t dtype = call.input(0).dtype;
    if (call.input(1).dtype != dtype || call.input(2).dtype != dtype)
      fail("the data and the caches must have one element type");
    gantry_tensor& output = call.output(0, dtype, call.shape(0));
    if (call.shape(0).element_count() == 0) return;
    dispatch<TypeList<float, Float16, BFloat16>>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      turn_all(call, layout, call.data<T>(0), static_cast<T*>(output.data));
    });
  }

 private:
  /// x: [batch, heads, length, size], or [batch, length, heads, size] if `is_flat`.
  struct Layout {
    int64_t batch;
    int64_t heads;
    int64_t length;
    int64_t size;
    bool is_flat;
    int64_t pairs;  ///< of a head that are rotated
  };

  [[nodiscard]] Layout measure(sdk::Call& call) const {
    const sdk::Shape x = call.shape(0);
    if (x.rank != 3 && x.rank != 4)
      fail("input 0 has rank " + std::to_string(x.rank) + ", needs 3 or 4");
    Layout layout = {};
    layout.is_flat = x.rank == 3;
    layout.batch = x[0];
    layout.heads = layout.is_flat ? heads_ : x[1];
    layout.length = layout.is_flat ? x[1] : x[2];
    if (layout.is_flat && (heads_ < 1 || x[2] % heads_ != 0)) {
      fail("data of shape " + to_string(x) +
           " need a num_heads that divides the last extent; it is " + std::to_string(heads_));
    }
    layout.size = layout.is_flat ? x[2] / heads_ : x[3];
    const int64_t rotated = rotated_ > 0 ? rotated_ : layout.size;
    if (rotated > layout.size || rotated % 2 != 0) {
      fail("heads of " + std::to_string(layout.size) + " elements, of which " +
           std::to_string(rotated) + " are to be rotated; needs an even number within the head");
    }
    layout.pairs = rotated / 2;
    check_caches(call, layout);
    return layout;
  }

  void check_caches(sdk::Call& call, const Layout& layout) const {
    const sdk::Shape cache = call.shape(1);
    const bool has_positions = call.has_input(3);
    const bool fits =
        has_positions ? cache.rank == 2
                      : cache.rank == 3 && cache[0] == layout.batch && cache[1] == layout.length;
    if (!fits || cache != call.shape(2) || cache[cache.rank - 1] != layout.pairs) {
      fail("caches of shape " + to_string(cache) + " and " + to_string(call.shape(2)) +
           " do not fit: expected [" + (has_positions ? "positions, " : "batch, length, ") +
           std::to_string(layout.pairs) + "] for both");
    }
    if (!has_positions) return;
    const sdk::Shape positions = call.shape(3);
    if (positions.rank != 2 || positions[0] != layout.batch || positions[1] != layout.length)
      fail("position_ids have shape " + to_string(positions) + ", expected [batch, length]");
    const auto* at = call.data<int64_t>(3);
    for (int64_t i = 0; i < positions.element_count(); ++i) {
      if (at[i] < 0 || at[i] >= cache[0]) {
        fail("position " + std::to_string(at[i]) + " is outside caches of " +
             std::to_string(cache[0]) + " positions");
      }
    }
  }

  template <class T>
  void turn_all(sdk::Call& call, const Layout& layout, const T* x, T* y) const {
    const T* cosines = call.data<T>(1);
    const T* sines = call.data<T>(2);
    const int64_t* positions = call.has_input(3) ? call.data<int64_t>(3) : nullptr;
    const int64_t rows = layout.batch * layout.heads * layout.length;
    const int64_t grain = std::max<int64_t>(1, kRotaryEmbeddingGrain / layout.size);
    call.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t batch = row / (layout.heads * layout.length);
        const int64_t inner = row % (layout.heads * layout.length);
        const int64_t token = layout.is_flat ? inner / layout.heads : inner % layout.length;
        const int64_t token_index = batch * layout.length + token;
        const int64_t angle = (positions ? positions[token_index] : token_index) * layout.pairs;
        rotate(x + row * layout.size, cosines + angle, sines + angle, layout,
               y + row * layout.size);
      }
    });
  }

  /// Rotates one head of one token.
  template <class T>
  void rotate(const T* __restrict x, const T* __restrict cosines, const T* __restrict sines,
              const Layout& layout, T* __restrict y) const {
    const int64_t pairs = layout.pairs;
    const auto pair = [&](int64_t i, int64_t first, int64_t second) {
      const auto a = static_cast<float>(x[first]);
      const auto b = static_cast<float>(x[second]);
      const auto cosine = static_cast<float>(cosines[i]);
      const auto sine = static_cast<float>(sines[i]);
      y[first] = static_cast<T>(cosine * a - sine * b);
      y[second] = static_cast<T>(sine * a + cosine * b);
    };
    if (is_interleaved_) {
      for (int64_t i = 0; i < pairs; ++i) pair(i, 2 * i, 2 * i + 1);
    } else {
      for (int64_t i = 0; i < pairs; ++i) pair(i, i, i + pairs);
    }
    std::copy(x + 2 * pairs, x + layout.size, y + 2 * pairs);
  }

  bool is_interleaved_;
  int64_t heads_;    ///< of data of rank 3
  int64_t rotated_;  ///< elements of a head that are rotated; 0: all
};

constexpr sdk::KernelRow kRotaryEmbeddingRows[] = {
    {"RotaryEmbedding", 23, sdk::kLatest,
     sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16), sdk::make<RotaryEmbedding>},
};

}  // namespace

sdk::KernelTable rotary_embedding_kernels() { return sdk::table(kRotaryEmbeddingRows); }

}  // namespace gantry::cpu
