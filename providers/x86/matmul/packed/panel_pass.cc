// SPDX-License-Identifier: Apache-2.0
#include "matmul/packed/panel_pass.h"

#include <algorithm>
#include <cpuid.h>
#include <utility>
#include <vector>

#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
constexpr int64_t kBytesOfLine = 64;
constexpr int64_t kBytesAhead = 2048;

// Consecutive lines that are read once: AMD's CPUs fetch them by themselves, faster than with
// prefetch instructions (Zen 4: 27 GB/s without, 20 with; docs/results/amd-epyc-family-25.md).
bool gains_from_prefetch() {
  static const bool gains = [] {
    unsigned leaf = 0, ebx = 0, ecx = 0, edx = 0;
    __get_cpuid(0, &leaf, &ebx, &ecx, &edx);
    return ebx != signature_AMD_ebx;
  }();
  return gains;
}

}  // namespace

float* panel_room(int64_t count) {
  struct alignas(kBytesOfLine) Line {  // loads that cross a line take twice as long
    float floats[kBytesOfLine / kFloatBytes];
  };
  static thread_local std::vector<Line> lines;
  const auto wanted = static_cast<size_t>(divided_up(count * kFloatBytes, kBytesOfLine));
  if (lines.size() < wanted) lines.resize(wanted);
  return lines.data()->floats;
}

PanelPass::PanelPass(const Part& part, const Tiles& tiles)
    : next_(part.next),
      // 0 for a half panel of 16-bit elements, which have less than a line.
      lines_(part.width * bytes_of(part.dtype) / kBytesOfLine),
      lines_end_(lines_ * part.inner * kBytesOfLine),
      is_alone_(tiles.count == 1) {
  tile_.panel = part.weights;
  tile_.dtype = part.dtype;
  tile_.inner = part.inner;
  tile_.left_stride = tiles.left_stride;
  tile_.columns = part.columns;
  tile_.stride = tiles.target_stride;
  if (is_alone_) {
    if (lines_ == 0 || !gains_from_prefetch()) return;
    tile_.ahead = reinterpret_cast<const char*>(part.weights) + kBytesAhead;
    tile_.lines_ahead = static_cast<int>(lines_);
    return;
  }
  if (part.dtype != StorageDtype::kFloat) tile_.widened = panel_room(part.inner * part.width);
  // Prefetches are spread over the tiles: the number of outstanding cache misses is limited.
  if (lines_ > 0) tile_.steps_ahead = static_cast<int>(std::max<int64_t>(1, tiles.count / lines_));
  share_ = divided_up(part.inner, tile_.steps_ahead) * kBytesOfLine;
}

void PanelPass::keep(const TileEpilogue::Bounds& bounds) {
  tile_.is_bounded = true;
  tile_.low = bounds.low;
  tile_.high = bounds.high;
}

void PanelPass::multiply(int64_t rows, const float* left, const float* initial, float* target) {
  tile_.rows = static_cast<int>(rows);
  tile_.left = left;
  tile_.initial = initial;
  tile_.target = target;
  if (!is_alone_) {
    const bool is_more = next_ && brought_ < lines_end_;
    tile_.ahead = is_more ? reinterpret_cast<const char*>(next_) + brought_ : nullptr;
    brought_ += share_;
  }
  matmul_code()->multiply_tile(tile_);
  if (!tile_.widened) return;
  tile_.panel = std::exchange(tile_.widened, nullptr);
  tile_.dtype = StorageDtype::kFloat;
}

}  // namespace gantry::x86
