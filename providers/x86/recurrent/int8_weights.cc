// SPDX-License-Identifier: Apache-2.0
#include "recurrent/int8_weights.h"

#include <algorithm>
#include <cstring>

#include "int8/amx.h"
#include "int8/vnni.h"
#include "onednn/digest.h"
#include "onednn/packed_share.h"
#include "onednn/threads.h"
#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kGates = kInt8Gates;
constexpr int64_t kQuad = 4;
constexpr int64_t kLine = kUnitBlock * kQuad;  // bytes of a quad of a panel
constexpr uint8_t kSign = 0x80;

using Plain = Int8LayerWeights::Plain;

/// Layout of the quads of a panel: `quads_of_step` are consecutive; steps are `step_bytes` apart.
struct PanelSteps {
  int64_t quads_of_step;
  int64_t step_bytes;

  [[nodiscard]] int64_t offset_of(int64_t quad) const {
    return quad / quads_of_step * step_bytes + quad % quads_of_step * kLine;
  }
};

/// Packs a panel, given by its index in [directions, blocks, gates]. Requires that `target` is
/// zero.
void fill_panel(const Plain& plain, int64_t panel, const PanelSteps& steps, int8_t* target) {
  const int64_t blocks = unit_blocks_of(plain.hidden);
  const int64_t direction = panel / (blocks * kGates);
  const int64_t first = panel / kGates % blocks * kUnitBlock;
  const int64_t gate = panel % kGates;
  const int64_t count = std::min(kUnitBlock, plain.hidden - first);
  const int64_t columns = kGates * plain.hidden;
  const uint8_t sign = plain.is_signed ? 0 : kSign;
  const auto* from = static_cast<const uint8_t*>(plain.numbers) +
                     direction * plain.inner * columns + gate * plain.hidden + first;
  for (int64_t k = 0; k < plain.inner; ++k, from += columns) {
    int8_t* to = target + steps.offset_of(k / kQuad) + k % kQuad;
    for (int64_t i = 0; i < count; ++i) to[i * kQuad] = static_cast<int8_t>(from[i] ^ sign);
  }
}

void sum_panel(const int8_t* panel, const PanelSteps& steps, int64_t quads, int32_t* sums) {
  std::fill_n(sums, kUnitBlock, 0);
  for (int64_t quad = 0; quad < quads; ++quad) {
    for (int64_t i = 0; i < kLine; ++i) sums[i / kQuad] += panel[steps.offset_of(quad) + i];
  }
}

BytePanelsLayout layout_of(const Plain& plain, int64_t quads, int64_t panels) {
  ExtraCounts extras(static_cast<size_t>(2 * panels));
  with_threads(machine_threads(), [&] {
    for_each(panels, [&](int64_t panel) {
      std::vector<int8_t> weights(static_cast<size_t>(quads * kLine));
      fill_panel(plain, panel, {quads, 0}, weights.data());
      for (int64_t half = 0; half < 2; ++half)
        extras[static_cast<size_t>(2 * panel + half)] = count_extras(weights.data(), half, quads);
    });
  });
  return {quads, extras};
}

}  // namespace

void Int8LayerWeights::pack(const gantry_host* host, sdk::Choices& choices, const std::string& name,
                            const Plain& plain) {
  quads_of_step_ = has_tile_code() ? kAmxStep : has_vnni_code() ? kVnniStep : 1;
  quads_ = divided_up(divided_up(plain.inner, kQuad), quads_of_step_) * quads_of_step_;
  blocks_ = unit_blocks_of(plain.hidden);
  const int64_t panels = plain.directions * blocks_ * kGates;
  if (!has_vnni_code()) {
    layout_ = has_quad_sums() ? BytePanelsLayout(quads_, panels) : layout_of(plain, quads_, panels);
  }
  set_scales(plain);
  std::string form = !layout_          ? "int8 layer"
                     : has_quad_sums() ? "int8 layer, whole panels"
                                       : "int8 layer without VNNI";
  for (const int64_t number :
       {plain.directions, plain.inner, plain.hidden, int64_t{plain.is_signed}, quads_of_step_})
    form += "/" + std::to_string(number);
  const auto count = static_cast<uint64_t>(plain.directions * plain.inner * kGates * plain.hidden);
  const Digest content =
      cached_digest(choices, name, [&] { return digest_of(plain.numbers, count, form); });
  sums_ = panels * quads_ * kLine;
  const auto size_bytes = static_cast<uint64_t>(
      layout_ ? layout_->size_bytes() : sums_ + panels * kUnitBlock * int64_t{sizeof(int32_t)});
  const auto fill = [&](void* memory, int64_t panel) {
    if (layout_) {
      fill_panel(plain, panel, {quads_, 0}, layout_->panel(memory, panel));
      return layout_->pack(memory, panel);
    }
    auto* bytes = static_cast<int8_t*>(memory);
    const PanelSteps steps{quads_of_step_, kGates * quads_of_step_ * kLine};
    int8_t* const to =
        bytes + (panel / kGates * kGates * quads_ + panel % kGates * quads_of_step_) * kLine;
    fill_panel(plain, panel, steps, to);
    sum_panel(to, steps, quads_, reinterpret_cast<int32_t*>(bytes + sums_) + panel * kUnitBlock);
  };
  share_ = share_packed(
      host, {content, digest_of(form.data(), form.size(), "")}, size_bytes, [&](void* memory) {
        std::memset(memory, 0, size_bytes);
        with_threads(machine_threads(),
                     [&] { for_each(panels, [&](int64_t panel) { fill(memory, panel); }); });
      });
}

void Int8LayerWeights::set_scales(const Plain& plain) {
  const int64_t width = blocks_ * kGates * kUnitBlock;
  scales_.assign(static_cast<size_t>(plain.directions * width), 0);
  const int64_t given = static_cast<int64_t>(plain.scales.size()) / plain.directions;
  for (int64_t d = 0; d < plain.directions; ++d) {
    for (int64_t i = 0; i < kGates * plain.hidden; ++i) {
      const int64_t gate = i / plain.hidden;
      const int64_t unit = i % plain.hidden;
      const int64_t panel = unit / kUnitBlock * kGates + gate;
      const int64_t to = d * width + panel * kUnitBlock + unit % kUnitBlock;
      const int64_t from = d * given + (given > 1 ? i : 0);
      scales_[static_cast<size_t>(to)] = plain.scales[static_cast<size_t>(from)];
    }
    zero_points_.push_back(plain.zero_points[static_cast<size_t>(d)] -
                           (plain.is_signed ? 0 : int32_t{kSign}));
  }
}

Int8Gates Int8LayerWeights::of_direction(int64_t direction) const {
  Int8Gates gates;
  const auto* memory = static_cast<const int8_t*>(share_.get());
  const int64_t panels = blocks_ * kGates;
  gates.first_panel = direction * panels;
  if (layout_) {
    gates.panels = layout_->of(memory);
    gates.sums = gates.panels.sums;
  } else {
    gates.weights = memory + gates.first_panel * quads_ * kLine;
    gates.sums = reinterpret_cast<const int32_t*>(memory + sums_);
  }
  gates.sums += gates.first_panel * kUnitBlock;
  gates.scales = scales_.data() + gates.first_panel * kUnitBlock;
  gates.zero_point = zero_points_[static_cast<size_t>(direction)];
  gates.quads = quads_;
  gates.quads_of_step = quads_of_step_;
  gates.blocks = blocks_;
  return gates;
}

}  // namespace gantry::x86
