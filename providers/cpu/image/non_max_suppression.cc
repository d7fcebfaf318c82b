// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression: for each batch and class, keeps the box with the best score of those that
// overlap.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "families.h"
#include "node_kernel.h"
#include "reduction/order_key.h"

namespace gantry::cpu {

namespace {

struct Box {
  float x_low;
  float y_low;
  float x_high;
  float y_high;

  [[nodiscard]] float area() const { return (x_high - x_low) * (y_high - y_low); }
};

/// `numbers`: two opposite corners as y, x, y, x; or with `is_center` x, y, width, height.
Box read_box(const float* numbers, bool is_center) {
  if (is_center) {
    const float half_width = numbers[2] / 2;
    const float half_height = numbers[3] / 2;
    return {numbers[0] - half_width, numbers[1] - half_height, numbers[0] + half_width,
            numbers[1] + half_height};
  }
  return {std::min(numbers[1], numbers[3]), std::min(numbers[0], numbers[2]),
          std::max(numbers[1], numbers[3]), std::max(numbers[0], numbers[2])};
}

bool overlap_more(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x_high, b.x_high) - std::max(a.x_low, b.x_low);
  const float height = std::min(a.y_high, b.y_high) - std::max(a.y_low, b.y_low);
  if (!(width > 0) || !(height > 0)) return false;
  const float common = width * height;
  const float area_a = a.area();
  const float area_b = b.area();
  const float together = area_a + area_b - common;
  if (!(area_a > 0) || !(area_b > 0) || !(together > 0)) return false;
  return common / together > threshold;
}

class NonMaxSuppression final : public NodeKernel {
 public:
  explicit NonMaxSuppression(const sdk::NodeView& node)
      : NodeKernel(node), is_center_(node.get_int("center_point_box", 0) != 0) {}

  void run(sdk::Call& call) const override {
    require_rank(call, 0, 3);
    require_rank(call, 1, 3);
    const sdk::Shape boxes = call.shape(0);
    const sdk::Shape scores = call.shape(1);
    if (boxes[0] != scores[0] || boxes[1] != scores[2] || boxes[2] != 4) {
      fail("boxes of shape " + to_string(boxes) + " and scores of shape " + to_string(scores) +
           " do not fit as [batch, boxes, 4] and [batch, classes, boxes]");
    }
    const int64_t count = boxes[1];
    if (count > std::numeric_limits<uint32_t>::max())
      fail("there are " + std::to_string(count) + " boxes, expected fewer than 2^32");
    const int64_t most = std::clamp<int64_t>(call.has_input(2) ? read_int(call, 2) : 0, 0, count);
    const int64_t classes = scores[0] * scores[1];
    auto* selected = call.scratch<int64_t>(checked_slots(classes, most));
    auto* candidates = call.scratch<int64_t>(count);
    auto* batch_boxes = call.scratch<Box>(count);
    auto* counts = call.scratch<int64_t>(classes);
    int64_t total = 0;
    for (int64_t i = 0; i < classes && most > 0; ++i) {
      call.poll();
      if (i % scores[1] == 0) {
        const float* numbers = call.data<float>(0) + i / scores[1] * count * 4;
        for (int64_t k = 0; k < count; ++k) batch_boxes[k] = read_box(numbers + 4 * k, is_center_);
      }
      counts[i] = select(call, batch_boxes, call.data<float>(1) + i * count, count, most,
                         candidates, selected + i * most);
      total += counts[i];
    }
    auto* output = static_cast<int64_t*>(call.output(0, GANTRY_INT64, {total, 3}).data);
    for (int64_t i = 0; i < classes && most > 0; ++i) {
      for (int64_t k = 0; k < counts[i]; ++k, output += 3) {
        output[0] = i / scores[1];
        output[1] = i % scores[1];
        output[2] = selected[i * most + k];
      }
    }
  }

 private:
  [[nodiscard]] int64_t checked_slots(int64_t classes, int64_t most) const {
    const int64_t extents[2] = {classes, most};
    return count_of({extents, 2});
  }
  [[nodiscard]] float number(sdk::Call& call, int slot, float fallback) const {
    if (!call.has_input(slot)) return fallback;
    if (call.shape(slot).element_count() != 1)
      fail("input " + std::to_string(slot) + " needs one element");
    return *call.data<float>(slot);
  }

  /// Writes the indices of the selected boxes of one class, best first; returns their number.
  int64_t select(sdk::Call& call, const Box* boxes, const float* scores, int64_t count,
                 int64_t most, int64_t* candidates, int64_t* selected) const {
    const float overlap = number(call, 3, 0);
    const bool has_minimum = call.has_input(4);
    const float minimum = number(call, 4, 0);
    int64_t* end = candidates;
    for (int64_t i = 0; i < count; ++i) {
      if (has_minimum && !(scores[i] > minimum)) continue;
      // NaN scores rank last, so that the order is total.
      const float rank =
          scores[i] != scores[i] ? -std::numeric_limits<float>::infinity() : scores[i];
      *end++ = keyed_index(order_key(rank), i);
    }
    // A heap instead of sorting, since usually only a few of many boxes are visited.
    std::make_heap(candidates, end);
    int64_t selected_count = 0;
    while (end > candidates && selected_count < most) {
      std::pop_heap(candidates, end);
      const int64_t best = index_of(*--end);
      bool is_kept = true;
      for (int64_t k = 0; is_kept && k < selected_count; ++k)
        is_kept = !overlap_more(boxes[best], boxes[selected[k]], overlap);
      if (is_kept) selected[selected_count++] = best;
    }
    return selected_count;
  }

  bool is_center_;
};

constexpr sdk::KernelRow kNonMaxSuppressionRows[] = {
    {"NonMaxSuppression", 10, sdk::kLatest, sdk::dtypes(GANTRY_FLOAT),
     sdk::make<NonMaxSuppression>},
};

}  // namespace

sdk::KernelTable non_max_suppression_kernels() { return sdk::table(kNonMaxSuppressionRows); }

}  // namespace gantry::cpu
