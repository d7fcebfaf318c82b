// SPDX-License-Identifier: Apache-2.0
// Gather, GatherElements and GatherND.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "attributes.h"
#include "elements.h"
#include "families.h"
#include "node_kernel.h"
#include "tensor/indices.h"

namespace gantry::cpu {

namespace {

/// Least number of elements for a thread.
constexpr int64_t kGatherGrain = 32 * 1024;

class Gather final : public NodeKernel {
 public:
  explicit Gather(const sdk::NodeView& node) : NodeKernel(node), axis_(node.get_int("axis", 0)) {}
  void run(sdk::Call& call) const override {
    const sdk::Shape data = call.shape(0);
    const sdk::Shape indices = call.shape(1);
    const int axis = checked_axis(axis_, data.rank);
    Dims shape;
    for (int i = 0; i < axis; ++i) shape.push(data[i]);
    for (int i = 0; i < indices.rank; ++i) shape.push(indices[i]);
    for (int i = axis + 1; i < data.rank; ++i) shape.push(data[i]);
    const uint32_t dtype = call.input(0).dtype;
    const int64_t count = count_of(shape.shape());
    UnitWriter output(call, 0, dtype, shape.shape());
    if (count > 0) {
      const int64_t run = data.count(axis + 1, data.rank) * unit_bytes(dtype);
      copy(call, {data.count(0, axis), data[axis], indices.element_count(), run}, output.data());
    }
    output.finish();
  }

 private:
  struct Extents {
    int64_t outer;
    int64_t axis;
    int64_t indices;
    int64_t run_bytes;
  };

  void copy(sdk::Call& call, const Extents& e, std::byte* target) const {
    const Indices indices(call, 1);
    for (int64_t i = 0; i < e.indices; ++i) {
      if (!indices.is_within(i, e.axis)) fail_index(indices[i], e.axis, axis_);
    }
    const std::byte* source = read_units(call, 0);
    const int64_t grain = std::max<int64_t>(1, kGatherGrain * 4 / e.run_bytes);
    call.parallel_for(e.outer * e.indices, grain, [&](int64_t begin, int64_t end) {
      switch (e.run_bytes) {
        case 4:
          return copy_runs<4>(indices, e, source, target, begin, end);
        case 8:
          return copy_runs<8>(indices, e, source, target, begin, end);
        default:
          return copy_runs<0>(indices, e, source, target, begin, end);
      }
    });
  }

  /// kBytes: bytes of each copied run, or 0 if known at run time only.
  template <int kBytes>
  static void copy_runs(const Indices& indices, const Extents& e, const std::byte* source,
                        std::byte* target, int64_t begin, int64_t end) {
    const int64_t bytes = kBytes ? kBytes : e.run_bytes;
    int64_t outer = begin / e.indices;
    int64_t i = begin % e.indices;
    for (int64_t position = begin; position < end; ++position) {
      const std::byte* run = source + (outer * e.axis + indices.wrapped(i, e.axis)) * bytes;
      std::memcpy(target + position * bytes, run, static_cast<size_t>(kBytes ? kBytes : bytes));
      if (++i == e.indices) {
        i = 0;
        ++outer;
      }
    }
  }

  [[noreturn]] void fail_index(int64_t index, int64_t extent, int64_t axis) const {
    fail("index " + std::to_string(index) + " is outside axis " + std::to_string(axis) +
         ", whose extent is " + std::to_string(extent));
  }

  int64_t axis_;
};

/// Indices that are checked together.
constexpr int64_t kChecked = 2048;
/// The longest axis whose indices are wrapped with SIMD before use.
constexpr int64_t kLongestWrapped = std::numeric_limits<int32_t>::max();

class GatherElements final : public NodeKernel {
 public:
  explicit GatherElements(const sdk::NodeView& node)
      : NodeKernel(node), axis_(node.get_int("axis", 0)) {}
  void run(sdk::Call& call) const override {
    const sdk::Shape data = call.shape(0);
    const sdk::Shape indices = call.shape(1);
    const int axis = checked_axis(axis_, data.rank);
    if (!fits_elements(data, indices, axis)) {
      fail("indices of shape " + to_string(indices) + " do not fit data of shape " +
           to_string(data) + " on every axis but " + std::to_string(axis));
    }
    const uint32_t dtype = call.input(0).dtype;
    const int64_t count = indices.element_count();
    UnitWriter output(call, 0, dtype, indices);
    if (count > 0) {
      const ElementOffsets offsets(data, indices, axis);
      const Indices values(call, 1);
      const std::byte* source = read_units(call, 0);
      std::atomic<bool> are_within{true};
      dispatch_unit(dtype, [&](auto type) {
        using U = typename decltype(type)::type;
        const auto* from = reinterpret_cast<const U*>(source);
        U* to = output.as<U>();
        call.parallel_for(count, kGatherGrain, [&](int64_t begin, int64_t end) {
          // Indices are checked in blocks that stay in the cache until they are used.
          int32_t wrapped[kChecked];
          const auto move = [&](int64_t i, int64_t offset) { to[i] = from[offset]; };
          for (int64_t first = begin; first < end; first += kChecked) {
            const int64_t next = std::min(first + kChecked, end);
            const bool is_short = data[axis] > 0 && data[axis] <= kLongestWrapped;
            if (is_short ? !values.wrap(first, next, data[axis], wrapped)
                         : !values.are_within(first, next, data[axis])) {
              are_within = false;
              return;
            }
            is_short ? offsets.for_each(wrapped, first, next, move)
                     : offsets.for_each(values, first, next, move);
          }
        });
      });
      for (int64_t i = 0; !are_within && i < count; ++i) {
        if (!values.is_within(i, data[axis])) {
          fail("index " + std::to_string(values[i]) + " is outside axis " + std::to_string(axis) +
               ", whose extent is " + std::to_string(data[axis]));
        }
      }
    }
    output.finish();
  }

 private:
  int64_t axis_;
};

class GatherND final : public NodeKernel {
 public:
  explicit GatherND(const sdk::NodeView& node)
      : NodeKernel(node), batch_axes_(read_integer(node, "batch_dims", 0, 0)) {}
  void run(sdk::Call& call) const override {
    const sdk::Shape data = call.shape(0);
    const sdk::Shape indices = call.shape(1);
    const int batch = checked_batch(data, indices);
    const int64_t depth = indices[indices.rank - 1];
    if (depth < 1 || depth > data.rank - batch) {
      fail("the last extent of the indices is " + std::to_string(depth) + ", needs 1 to " +
           std::to_string(data.rank - batch));
    }
    const int first_run_axis = batch + static_cast<int>(depth);
    Dims shape;
    for (int i = 0; i < indices.rank - 1; ++i) shape.push(indices[i]);
    for (int i = first_run_axis; i < data.rank; ++i) shape.push(data[i]);
    const uint32_t dtype = call.input(0).dtype;
    const int64_t count = count_of(shape.shape());
    UnitWriter output(call, 0, dtype, shape.shape());
    if (count > 0) {
      const int64_t run = data.count(first_run_axis, data.rank) * unit_bytes(dtype);
      const int64_t tuples = indices.count(0, indices.rank - 1);
      const int64_t tuples_per_batch = indices.count(batch, indices.rank - 1);
      copy(call, {data.data + batch, static_cast<int>(depth)}, tuples, tuples_per_batch, run,
           output.data());
    }
    output.finish();
  }

 private:
  [[nodiscard]] int checked_batch(sdk::Shape data, sdk::Shape indices) const {
    bool fits = indices.rank >= 1 && batch_axes_ < indices.rank && batch_axes_ < data.rank;
    for (int i = 0; fits && i < batch_axes_; ++i) fits = data[i] == indices[i];
    if (!fits) {
      fail("indices of shape " + to_string(indices) + " do not fit data of shape " +
           to_string(data) + " with " + std::to_string(batch_axes_) + " batch axes");
    }
    return static_cast<int>(batch_axes_);
  }

  /// `indexed`: the extents of the axes that a tuple points into.
  void copy(sdk::Call& call, sdk::Shape indexed, int64_t tuples, int64_t tuples_per_batch,
            int64_t run_bytes, std::byte* target) const {
    const Indices indices(call, 1);
    auto* offsets = call.scratch<int64_t>(tuples);
    for (int64_t i = 0; i < tuples; ++i) {
      offsets[i] = i / tuples_per_batch;
      for (int k = 0; k < indexed.rank; ++k) {
        const int64_t position = i * indexed.rank + k;
        if (!indices.is_within(position, indexed[k])) {
          fail("index " + std::to_string(indices[position]) +
               " is outside an axis whose extent is " + std::to_string(indexed[k]));
        }
        offsets[i] = offsets[i] * indexed[k] + indices.wrapped(position, indexed[k]);
      }
    }
    const std::byte* source = read_units(call, 0);
    const int64_t grain = std::max<int64_t>(1, kGatherGrain * 4 / run_bytes);
    call.parallel_for(tuples, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::memcpy(target + i * run_bytes, source + offsets[i] * run_bytes,
                    static_cast<size_t>(run_bytes));
      }
    });
  }

  int64_t batch_axes_;
};

constexpr sdk::KernelRow kGatherRows[] = {
    // Runs of bytes are copied, so the data may be unaligned, as an embedding in a mapped file is.
    {"Gather", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<Gather>, {.unaligned_inputs = 1}},
    {"GatherElements", 11, sdk::kLatest, sdk::kAllTypes, sdk::make<GatherElements>},
    {"GatherND", 11, sdk::kLatest, sdk::kAllTypes, sdk::make<GatherND>},
};

}  // namespace

sdk::KernelTable gather_kernels() { return sdk::table(kGatherRows); }

}  // namespace gantry::cpu
