// SPDX-License-Identifier: Apache-2.0
// TopK: the k largest or smallest elements along an axis and their indices; of equal elements the
// one with the lower index. NaN is larger than every number. Elements of at most 32 bits are
// compared as integers that include their indices (order_key.h).
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "attributes.h"
#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"
#include "reduction/order_key.h"
#include "simd/integer_vectors.h"

namespace gantry::cpu {
namespace {

/// Least number of elements for a thread.
constexpr int64_t kTopKGrain = 4096;

template <class C>
struct Entry {
  C value;
  int64_t index;
};

/// A strict weak order of entries, also with NaN.
template <class C>
bool is_less(C a, C b) {
  return ((static_cast<int>(b != b) & static_cast<int>(a == a)) | static_cast<int>(a < b)) != 0;
}
template <bool kLargest, class C>
bool stands_before(const Entry<C>& a, const Entry<C>& b) {
  const bool first = kLargest ? is_less(b.value, a.value) : is_less(a.value, b.value);
  const bool second = kLargest ? is_less(a.value, b.value) : is_less(b.value, a.value);
  return first || (!second && a.index < b.index);
}

class TopK final : public NodeKernel {
 public:
  TopK(const sdk::NodeView& node, int64_t k)
      : NodeKernel(node),
        k_(k),
        axis_(node.get_int("axis", -1)),
        is_largest_(node.get_int("largest", 1) != 0) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    if (x.rank == 0) fail("input 0 is a scalar, needs at least one axis");
    const int axis = checked_axis(axis_, x.rank);
    const int64_t k = k_ >= 0 ? k_ : read_int(call, 1);
    if (k < 0 || k > x[axis]) {
      fail("k is " + std::to_string(k) + ", expected 0 to " + std::to_string(x[axis]) +
           ", the extent of the axis");
    }
    Dims shape(x);
    shape[axis] = k;
    const int64_t outputs = count_of(shape.shape());
    const uint32_t dtype = call.input(0).dtype;
    void* values = call.wants(0) ? call.output(0, dtype, shape.shape()).data : nullptr;
    void* indices = call.wants(1) ? call.output(1, GANTRY_INT64, shape.shape()).data : nullptr;
    if (outputs == 0) return;
    const Lines lines = {x.count(0, axis), x[axis], x.count(axis + 1, x.rank), k};
    dispatch<NumberTypes>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* y = static_cast<T*>(values);
      auto* at = static_cast<int64_t*>(indices);
      if constexpr (sizeof(T) <= 4) {
        if (lines.extent <= kMaxPositions) return select_keyed(call, lines, y, at);
      }
      is_largest_ ? select<T, true>(call, lines, y, at) : select<T, false>(call, lines, y, at);
    });
  }

 private:
  struct Lines {
    int64_t outer;
    int64_t extent;
    int64_t inner;
    int64_t k;
  };

  static constexpr int64_t kMaxPositions = int64_t{1} << 31;
  /// Up to this k, the best are held in a sorted array, otherwise in a heap.
  static constexpr int64_t kFew = 32;

  static int64_t part_count(sdk::Call& call, const Lines& lines) {
    const int64_t grain = std::max<int64_t>(1, kTopKGrain / lines.extent);
    return std::clamp<int64_t>(lines.outer * lines.inner / grain, 1, call.thread_count());
  }

  template <class T>
  void select_keyed(sdk::Call& call, const Lines& lines, T* values, int64_t* indices) const {
    const T* x = call.data<T>(0);
    const int64_t count = lines.outer * lines.inner;
    const int64_t parts = part_count(call, lines);
    auto* keys = call.scratch<int32_t>(parts * lines.extent);
    auto* entries = call.scratch<int64_t>(parts * lines.extent);
    const int32_t flip = is_largest_ ? 0 : -1;
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      int32_t* own_keys = keys + begin * lines.extent;
      int64_t* own = entries + begin * lines.extent;
      for (int64_t i = count * begin / parts; i < count * end / parts; ++i) {
        const T* source = x + i / lines.inner * lines.extent * lines.inner + i % lines.inner;
        for (int64_t n = 0; n < lines.extent; ++n)
          own_keys[n] = order_key(source[n * lines.inner]) ^ flip;
        if (lines.k <= lines.extent / 4) {
          find_few(own_keys, lines.extent, lines.k, own);
        } else {
          for (int64_t n = 0; n < lines.extent; ++n) own[n] = keyed_index(own_keys[n], n);
          const auto order = std::greater<int64_t>();
          if (lines.k < lines.extent)
            std::nth_element(own, own + lines.k, own + lines.extent, order);
          std::sort(own, own + lines.k, order);
        }
        const int64_t at = i / lines.inner * lines.k * lines.inner + i % lines.inner;
        for (int64_t n = 0; n < lines.k; ++n) {
          const int64_t index = index_of(own[n]);
          if (values) values[at + n * lines.inner] = source[index * lines.inner];
          if (indices) indices[at + n * lines.inner] = index;
        }
      }
    });
  }

  /// Finds the k largest keys, sorted. Most keys are rejected by one comparison with the smallest
  /// of those found so far.
  static void find_few(const int32_t* keys, int64_t extent, int64_t k, int64_t* few) {
    const auto order = std::greater<int64_t>();
    for (int64_t n = 0; n < k; ++n) few[n] = keyed_index(keys[n], n);
    const bool is_heap = k > kFew;
    is_heap ? std::make_heap(few, few + k, order) : std::sort(few, few + k, order);
    for (int64_t n = k;; ++n) {
      n = simd::first_above(keys, n, extent, key_of(is_heap ? few[0] : few[k - 1]));
      if (n == extent) break;
      const int64_t entry = keyed_index(keys[n], n);
      if (is_heap) {
        std::pop_heap(few, few + k, order);
        few[k - 1] = entry;
        std::push_heap(few, few + k, order);
        continue;
      }
      int64_t at = k - 1;
      for (; at > 0 && few[at - 1] < entry; --at) few[at] = few[at - 1];
      few[at] = entry;
    }
    if (is_heap) std::sort(few, few + k, order);
  }

  template <class T, bool kLargest>
  static void select(sdk::Call& call, const Lines& lines, T* values, int64_t* indices) {
    using C = Compute<T>;
    const T* x = call.data<T>(0);
    const int64_t count = lines.outer * lines.inner;
    const int64_t parts = part_count(call, lines);
    auto* entries = call.scratch<Entry<C>>(parts * lines.extent);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      Entry<C>* own = entries + begin * lines.extent;
      for (int64_t i = count * begin / parts; i < count * end / parts; ++i) {
        const T* source = x + i / lines.inner * lines.extent * lines.inner + i % lines.inner;
        if (lines.k <= lines.extent / 4) {
          find_few<kLargest>(source, lines, own);
        } else {
          for (int64_t n = 0; n < lines.extent; ++n)
            own[n] = {static_cast<C>(source[n * lines.inner]), n};
          sort_first<kLargest>(own, lines.extent, lines.k);
        }
        const int64_t at = i / lines.inner * lines.k * lines.inner + i % lines.inner;
        for (int64_t n = 0; n < lines.k; ++n) {
          if (values) values[at + n * lines.inner] = static_cast<T>(own[n].value);
          if (indices) indices[at + n * lines.inner] = own[n].index;
        }
      }
    });
  }

  /// Finds the first k of a line, sorted, for small k. They are held in a heap with the last of
  /// them on top, so that one comparison rejects most elements.
  template <bool kLargest, class T, class C>
  static void find_few(const T* source, const Lines& lines, Entry<C>* few) {
    const auto order = [](const Entry<C>& a, const Entry<C>& b) {
      return stands_before<kLargest>(a, b);
    };
    for (int64_t n = 0; n < lines.k; ++n) few[n] = {static_cast<C>(source[n * lines.inner]), n};
    std::make_heap(few, few + lines.k, order);
    C last = few->value;
    for (int64_t n = lines.k; n < lines.extent; ++n) {
      const auto value = static_cast<C>(source[n * lines.inner]);
      // Of equal elements the one with the lower index stays.
      if (kLargest ? !is_less(last, value) : !is_less(value, last)) continue;
      std::pop_heap(few, few + lines.k, order);
      few[lines.k - 1] = {value, n};
      std::push_heap(few, few + lines.k, order);
      last = few->value;
    }
    std::sort_heap(few, few + lines.k, order);
  }

  /// Moves the first k to the front, sorted, for large k. With `sorted` 0 any order is allowed, so
  /// a sorted one is too.
  template <bool kLargest, class C>
  static void sort_first(Entry<C>* entries, int64_t count, int64_t k) {
    const auto order = [](const Entry<C>& a, const Entry<C>& b) {
      return stands_before<kLargest>(a, b);
    };
    // Selecting first saves the order of the rest.
    if (k < count) std::nth_element(entries, entries + k, entries + count, order);
    std::sort(entries, entries + k, order);
  }

  int64_t k_;  ///< -1: k is input 1
  int64_t axis_;
  bool is_largest_;
};

std::unique_ptr<sdk::Kernel> make_with_attribute(const sdk::NodeView& node) {
  return std::make_unique<TopK>(node, read_integer(node, "k", -1, 0));
}

std::unique_ptr<sdk::Kernel> make_with_input(const sdk::NodeView& node) {
  return std::make_unique<TopK>(node, -1);
}

constexpr sdk::Marks kCount = {.signature_inputs = 2};

constexpr sdk::KernelRow kTopKRows[] = {
    {"TopK", 1, 9, sdk::kFloats, make_with_attribute},
    {"TopK", 10, 10, sdk::kFloats, make_with_input, kCount},
    {"TopK", 11, sdk::kLatest, sdk::kNumbers, make_with_input, kCount},
};

}  // namespace

sdk::KernelTable top_k_kernels() { return sdk::table(kTopKRows); }

}  // namespace gantry::cpu
