// SPDX-License-Identifier: Apache-2.0
// TensorScatter: writes new keys or values into a cache, in place where the host grants it. A
// position outside of the cache is not written: a kernel cannot report an error.
#include "kernels/attention/cache.h"

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

enum Slot : int { kCache, kUpdate, kStarts };

class TensorScatter final : public Operation {
 public:
  explicit TensorScatter(const NodeView& node)
      : axis_(node.get_int("axis", -2)),
        is_circular_(node.get_string("mode", "linear") == "circular") {}
  void plan(Planner& planner) const override {
    const InputMetadata& cache = planner.input(kCache);
    const Extents& update = planner.shape(kUpdate);
    const auto axis = static_cast<size_t>(checked_axis(axis_, cache.rank(), "axis"));
    check(planner, axis);
    const Buffer y = planner.output(0, cache.dtype, cache.shape);
    int64_t bytes = bytes_of(cache.dtype);
    planner.copy(y, Planner::in(kCache), static_cast<uint64_t>(cache.element_count() * bytes));
    CacheParameters p = {};
    p.inner = count_of(cache.shape, axis + 1, cache.shape.size());
    if (count_of(update) == 0) return;
    while (bytes < 16 && p.inner % 2 == 0) {
      p.inner /= 2;
      bytes *= 2;
    }
    p.length = update[axis];
    p.capacity = cache.shape[axis];
    p.rows = count_of(cache.shape, 1, axis);
    p.count = cache.shape[0] * p.rows * p.length * p.inner;
    p.is_circular = is_circular_ ? 1 : 0;
    std::vector<std::pair<const void* const*, Buffer>> addresses = {
        {&p.target, y}, {&p.update, Planner::in(kUpdate)}};
    if (planner.has_input(kStarts)) {
      addresses.emplace_back(reinterpret_cast<const void* const*>(&p.starts), Planner::in(kStarts));
    }
    const std::string body = std::string("\ntypedef ") + index_type(p.count < int64_t{1} << 31) +
                             " Index;\ntypedef " + word_name(bytes) + " Word;\n" +
                             std::string(kernel_text("cache.cu"));
    planner.launch(kernel_source({"index.h", "copy.h", "copy.cu", "cache.h"}, body),
                   blocks_for(planner, p.count), kThreads, p, addresses);
  }

 private:
  static void check(const Planner& planner, size_t axis) {
    const Extents& cache = planner.shape(kCache);
    const Extents& update = planner.shape(kUpdate);
    bool fits = axis > 0 && update.size() == cache.size();
    for (size_t i = 0; fits && i < cache.size(); ++i)
      fits = i == axis ? update[i] <= cache[i] : update[i] == cache[i];
    const bool has_starts = planner.has_input(kStarts);
    if (fits && (!has_starts || planner.input(kStarts).element_count() == cache[0])) return;
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     "an update of the shape " + text_of(update) +
                         (has_starts ? " at positions " + text_of(planner.shape(kStarts)) : "") +
                         " does not fit a cache of " + text_of(cache) + " along axis " +
                         std::to_string(axis));
  }

  int64_t axis_;
  bool is_circular_;
};

constexpr sdk::Marks overwriting() {
  sdk::Marks marks;
  marks.overwrites = 1;
  return marks;
}

constexpr sdk::KernelRow kRows[] = {
    {"TensorScatter", 24, sdk::kLatest, sdk::kFixedSize, make<TensorScatter>, overwriting()},
};

}  // namespace

sdk::KernelTable cache_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
