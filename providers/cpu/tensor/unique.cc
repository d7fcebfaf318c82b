// SPDX-License-Identifier: Apache-2.0
// Unique: the distinct elements, or slices along an axis, with their indices and counts. Slices are
// sorted indirectly by content, single numbers by radix sort. NaN equals NaN and sorts last.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "elements.h"
#include "families.h"
#include "node_kernel.h"
#include "reduction/order_key.h"
#include "tensor/axis_view.h"

namespace gantry::cpu {

namespace {

/// Negative, 0 or positive if a is less than, equal to or greater than b.
template <class T>
int compare(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, gantry_str>) {
    return sdk::to_view(a).compare(sdk::to_view(b));
  } else {
    const auto x = static_cast<Compute<T>>(a);
    const auto y = static_cast<Compute<T>>(b);
    if (x < y) return -1;
    if (y < x) return 1;
    return (x != x ? 1 : 0) - (y != y ? 1 : 0);
  }
}
template <class T>
int compare(const std::complex<T>& a, const std::complex<T>& b) {
  const int real = compare(a.real(), b.real());
  return real != 0 ? real : compare(a.imag(), b.imag());
}

/// Slices along the axis, compared lexicographically.
template <class T>
struct Slices {
  AxisView view;
  const T* elements;

  [[nodiscard]] int compare_at(int64_t a, int64_t b) const {
    for (int64_t outer = 0; outer < view.outer; ++outer) {
      const T* block = elements + outer * view.block();
      for (int64_t i = 0; i < view.inner; ++i) {
        const int order = compare(block[a * view.inner + i], block[b * view.inner + i]);
        if (order != 0) return order;
      }
    }
    return 0;
  }
};

/// An element's sort key and its index.
struct Keyed {
  uint64_t key;
  int64_t index;
};

/// Stable sort by key. `other` is scratch memory for `count` entries. Returns the sorted entries,
/// `entries` or `other`.
Keyed* radix_sort(Keyed* entries, Keyed* other, int64_t count) {
  uint64_t differing = 0;
  for (int64_t i = 1; i < count; ++i) differing |= entries[i].key ^ entries[0].key;
  for (int shift = 0; shift < 64; shift += 8) {
    if (((differing >> shift) & 0xFF) == 0) continue;
    int64_t starts[257] = {};
    for (int64_t i = 0; i < count; ++i) ++starts[((entries[i].key >> shift) & 0xFF) + 1];
    for (int digit = 0; digit < 256; ++digit) starts[digit + 1] += starts[digit];
    for (int64_t i = 0; i < count; ++i)
      other[starts[(entries[i].key >> shift) & 0xFF]++] = entries[i];
    std::swap(entries, other);
  }
  return entries;
}

/// A distinct slice: its first occurrence and its range in the sorted indices.
struct Group {
  int64_t first;
  int64_t begin;
  int64_t count;
};

class Unique final : public NodeKernel {
 public:
  explicit Unique(const sdk::NodeView& node)
      : NodeKernel(node),
        has_axis_(node.has("axis")),
        axis_(node.get_int("axis", 0)),
        is_sorted_(node.get_int("sorted", 1) != 0) {}

  void run(sdk::Call& call) const override {
    const std::byte* units = read_units(call, 0);
    if (call.input(0).dtype == GANTRY_STRING)
      return find(call, units, reinterpret_cast<const gantry_str*>(units));
    dispatch<Concat<NumberTypes, BoolTypes, ComplexTypes>>(call.input(0).dtype, [&](auto type) {
      find(call, units, reinterpret_cast<const typename decltype(type)::type*>(units));
    });
  }

 private:
  template <class T>
  void find(sdk::Call& call, const std::byte* units, const T* elements) const {
    const int64_t all = call.shape(0).element_count();
    const sdk::Shape flat(&all, 1);
    const sdk::Shape shape = has_axis_ ? call.shape(0) : flat;
    const int axis = has_axis_ ? checked_axis(axis_, shape.rank) : 0;
    const Slices<T> slices = {AxisView(shape, axis), elements};
    const int64_t extent = slices.view.extent;
    auto* order = call.scratch<int64_t>(extent);
    auto* groups = call.scratch<Group>(extent);
    int64_t count = 0;
    if constexpr (std::is_arithmetic_v<Compute<T>>) {
      if (slices.view.outer * slices.view.inner == 1) {
        count = group_numbers(call, elements, extent, order, groups);
      } else {
        count = group_slices(slices, order, groups);
      }
    } else {
      count = group_slices(slices, order, groups);
    }
    if (!is_sorted_) {
      std::sort(groups, groups + count,
                [](const Group& a, const Group& b) { return a.first < b.first; });
    }
    write_values(call, units, shape, axis, groups, count);
    write_indices(call, order, extent, groups, count);
  }

  /// Writes the sorted indices, and the groups in that order; returns the number of groups.
  template <class T>
  static int64_t group_slices(const Slices<T>& slices, int64_t* order, Group* groups) {
    const int64_t extent = slices.view.extent;
    for (int64_t i = 0; i < extent; ++i) order[i] = i;
    std::sort(order, order + extent, [&](int64_t a, int64_t b) {
      const int compared = slices.compare_at(a, b);
      return compared != 0 ? compared < 0 : a < b;
    });
    int64_t count = 0;
    for (int64_t i = 0; i < extent; ++i) {
      if (count > 0 && slices.compare_at(groups[count - 1].first, order[i]) == 0) {
        ++groups[count - 1].count;
      } else {
        groups[count++] = {order[i], i, 1};
      }
    }
    return count;
  }
  /// The same for single numbers.
  template <class T>
  static int64_t group_numbers(sdk::Call& call, const T* elements, int64_t extent, int64_t* order,
                               Group* groups) {
    auto* entries = call.scratch<Keyed>(extent);
    for (int64_t i = 0; i < extent; ++i) {
      const auto key = static_cast<uint64_t>(static_cast<int64_t>(order_key(elements[i])));
      entries[i] = {key ^ (uint64_t{1} << 63), i};
    }
    const Keyed* sorted = radix_sort(entries, call.scratch<Keyed>(extent), extent);
    int64_t count = 0;
    for (int64_t i = 0; i < extent; ++i) {
      order[i] = sorted[i].index;
      if (i > 0 && sorted[i].key == sorted[i - 1].key) {
        ++groups[count - 1].count;
      } else {
        groups[count++] = {order[i], i, 1};
      }
    }
    return count;
  }

  static void write_values(sdk::Call& call, const std::byte* units, sdk::Shape shape, int axis,
                           const Group* groups, int64_t count) {
    if (!call.wants(0)) return;
    Dims output_shape(shape);
    output_shape[axis] = count;
    const uint32_t dtype = call.input(0).dtype;
    UnitWriter output(call, 0, dtype, output_shape.shape());
    const AxisView view(shape, axis);
    const int64_t run = view.inner * unit_bytes(dtype);
    std::byte* target = output.data();
    for (int64_t outer = 0; outer < view.outer && run > 0; ++outer) {
      for (int64_t i = 0; i < count; ++i, target += run) {
        std::memcpy(target, units + (outer * view.extent + groups[i].first) * run,
                    static_cast<size_t>(run));
      }
    }
    output.finish();
  }

  static void write_indices(sdk::Call& call, const int64_t* order, int64_t extent,
                            const Group* groups, int64_t count) {
    int64_t* firsts = call.wants(1) ? list(call, 1, count) : nullptr;
    int64_t* inverse = call.wants(2) ? list(call, 2, extent) : nullptr;
    int64_t* counts = call.wants(3) ? list(call, 3, count) : nullptr;
    for (int64_t i = 0; i < count; ++i) {
      if (firsts) firsts[i] = groups[i].first;
      if (counts) counts[i] = groups[i].count;
      for (int64_t k = 0; inverse && k < groups[i].count; ++k)
        inverse[order[groups[i].begin + k]] = i;
    }
  }
  static int64_t* list(sdk::Call& call, int slot, int64_t count) {
    return static_cast<int64_t*>(call.output(slot, GANTRY_INT64, {count}).data);
  }

  bool has_axis_;
  int64_t axis_;
  bool is_sorted_;
};

constexpr sdk::KernelRow kUniqueRows[] = {
    {"Unique", 11, sdk::kLatest, sdk::kNumbers | sdk::kBool | sdk::kComplex | sdk::kString,
     sdk::make<Unique>},
};

}  // namespace

sdk::KernelTable unique_kernels() { return sdk::table(kUniqueRows); }

}  // namespace gantry::cpu
