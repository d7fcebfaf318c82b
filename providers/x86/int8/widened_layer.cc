// SPDX-License-Identifier: Apache-2.0
#include "int8/widened_layer.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <sstream>

#include "int8/vnni.h"
#include "onednn/digest.h"
#include "onednn/packed_share.h"
#include "onednn/threads.h"
#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

/// Consecutive weights of a result that one instruction multiplies and adds.
constexpr int64_t kPair = 2;
constexpr int64_t kChannelQuad = 4;

int64_t padded_panels(const WidenedConvolution& c) {
  return (c.is_depthwise() ? 1 : c.groups) * c.panels();
}

int64_t panel_bytes(const WidenedLayer::Plain& plain, const WidenedConvolution& c,
                    int64_t together) {
  return divided_up(plain.taps * c.channels, together) * together * kWidenedPanel;
}

/// A panel, by its number among all groups' (is_depthwise(): of channels), to `target`, which is
/// all zeros.
void fill_panel(const WidenedLayer::Plain& plain, const WidenedConvolution& c, int64_t panel,
                int64_t together, int8_t* target) {
  const bool is_depthwise = c.is_depthwise();
  const int64_t first = panel % c.panels() * kWidenedPanel;
  const int64_t count = std::min(kWidenedPanel, (is_depthwise ? c.groups : c.results) - first);
  const int64_t result = panel / c.panels() * c.results + first;
  const auto* from = static_cast<const uint8_t*>(plain.numbers) + result * plain.result_step;
  for (int64_t k = 0; k < plain.taps * c.channels; ++k) {
    const uint8_t* numbers =
        from + k % c.channels * plain.channel_step + k / c.channels * plain.tap_step;
    int8_t* row = target + k / together * together * kWidenedPanel + k % together;
    for (int64_t i = 0; i < count; ++i)
      row[i * together] = static_cast<int8_t>(numbers[i * plain.result_step] + plain.offset);
  }
}

/// Packs all weights in pairs, for int16, on all cores.
void fill_pairs(const WidenedLayer::Plain& plain, const WidenedConvolution& c, int8_t* target) {
  const int64_t size = panel_bytes(plain, c, kPair);
  with_threads(machine_threads(), [&] {
    for_each(padded_panels(c),
             [&](int64_t panel) { fill_panel(plain, c, panel, kPair, target + panel * size); });
  });
}

/// Packs all weights in quads (byte_panels.h), on all cores.
void fill_quads(const WidenedLayer::Plain& plain, const WidenedConvolution& c,
                const BytePanelsLayout& layout, void* memory) {
  with_threads(machine_threads(), [&] {
    for_each(padded_panels(c), [&](int64_t panel) {
      fill_panel(plain, c, panel, kChannelQuad, layout.panel(memory, panel));
      layout.pack(memory, panel);
    });
  });
}

ExtraCounts extras_of(const WidenedLayer::Plain& plain, const WidenedConvolution& c) {
  const int64_t size = panel_bytes(plain, c, kChannelQuad);
  ExtraCounts extras(static_cast<size_t>(padded_panels(c) * 2));
  with_threads(machine_threads(), [&] {
    for_each(padded_panels(c), [&](int64_t panel) {
      std::vector<int8_t> weights(static_cast<size_t>(size));
      fill_panel(plain, c, panel, kChannelQuad, weights.data());
      for (int64_t half = 0; half < 2; ++half) {
        extras[static_cast<size_t>(panel * 2 + half)] =
            count_extras(weights.data(), half, size / kChannelQuad / kWidenedPanel);
      }
    });
  });
  return extras;
}

/// True if byte panels are faster than int16. A quad takes 12 operations of the multiplying ports,
/// against 17 or 18 for int16 (AVX2, six rows).
bool pays(const ExtraCounts& extras, int64_t quads) {
  const int64_t count = std::accumulate(extras.begin(), extras.end(), int64_t{0});
  return count * 5 <= static_cast<int64_t>(extras.size()) * quads * 2;
}

std::string text_of(const ExtraCounts& extras) {
  std::ostringstream text;
  for (const int32_t count : extras) text << count << ' ';
  return text.str();
}

/// Extra quads of each half panel; nothing: int16 is faster. Cached in `choices`; a cached value
/// that does not fit the weights' shape is computed again.
std::optional<ExtraCounts> cached_extras(sdk::Choices& choices, const WidenedLayer::Plain& plain,
                                         const WidenedConvolution& c) {
  constexpr char kName[] = "extra quads";
  if (c.is_depthwise()) return std::nullopt;
  const int64_t quads = panel_bytes(plain, c, kChannelQuad) / kChannelQuad / kWidenedPanel;
  const std::string* kept = choices.find(kName);
  if (kept && kept->empty()) return std::nullopt;
  if (kept) {
    std::istringstream text(*kept);
    ExtraCounts extras(std::istream_iterator<int32_t>(text), {});
    const bool fits = std::all_of(extras.begin(), extras.end(),
                                  [&](int32_t count) { return count >= 0 && count <= quads; });
    if (fits && static_cast<int64_t>(extras.size()) == padded_panels(c) * 2) return extras;
  }
  ExtraCounts extras = extras_of(plain, c);
  const bool is_taken = pays(extras, quads);
  choices.set(kName, is_taken ? text_of(extras) : "");
  if (!is_taken) return std::nullopt;
  return extras;
}

}  // namespace

bool is_library_exact(int64_t inner) {
  constexpr int64_t kMost = 32768;
  return inner <= kMost && has_quad_sums();
}

std::string inexactness_of(const Fusion& fusion, int64_t inner) {
  if (is_library_exact(inner) || (int8_epilogue_of(fusion) && inner <= kMostWidenedProducts))
    return {};
  return "sums of its int8 products would not be exact on this CPU, or of more than " +
         std::to_string(kMostWidenedProducts);
}

std::string avx_vnni_refusal(const Fusion& fusion, int64_t inner) {
  if (has_vnni_code() || !has_quad_sums()) return "the CPU has no AVX-VNNI, or AVX-512 too";
  if (inner > kMostWidenedProducts)
    return "its sums have more than " + std::to_string(kMostWidenedProducts) + " products";
  return int8_epilogue_of(fusion) ? "" : "no code for a step of the epilogue";
}

void WidenedLayer::pack(const gantry_host* host, sdk::Choices& choices, const Plain& plain,
                        const Fusion& fusion, Int8Type target_type,
                        const std::vector<float>& scales, const std::vector<float>& bias) {
  form_.groups = plain.groups;
  form_.channels = plain.channels;
  form_.results = plain.results;
  form_.target_type = target_type;
  if (fusion.target.quantization) form_.target_zero = fusion.target.quantization->zero_point;
  steps_ = int8_epilogue_of(fusion).value();
  scales_ = spread(scales);
  bias_ = spread(bias);
  std::string form = std::to_string(plain.groups);
  for (const int64_t number : {plain.results, plain.channels, plain.taps, plain.result_step,
                               plain.channel_step, plain.tap_step, int64_t{plain.offset}})
    form += "/" + std::to_string(number);
  const auto count =
      static_cast<uint64_t>(plain.groups * plain.results * plain.channels * plain.taps);
  const Digest content =
      cached_digest(choices, "content", [&] { return digest_of(plain.numbers, count, form); });
  form += choose_layout(choices, plain);
  const int64_t size_bytes =
      layout_ ? layout_->size_bytes() : padded_panels(form_) * panel_bytes(plain, form_, kPair);
  weights_ = share_packed(host, {content, digest_of(form.data(), form.size(), "")},
                          static_cast<uint64_t>(size_bytes), [&](void* target) {
                            std::memset(target, 0, static_cast<size_t>(size_bytes));
                            if (layout_) {
                              fill_quads(plain, form_, *layout_, target);
                            } else {
                              fill_pairs(plain, form_, static_cast<int8_t*>(target));
                            }
                          });
}

std::string WidenedLayer::choose_layout(sdk::Choices& choices, const Plain& plain) {
  const int64_t quads = panel_bytes(plain, form_, kChannelQuad) / kChannelQuad / kWidenedPanel;
  if (has_quad_sums() && !form_.is_depthwise()) {
    layout_.emplace(quads, padded_panels(form_));
    return "/whole quads";
  }
  const std::optional<ExtraCounts> extras = cached_extras(choices, plain, form_);
  if (!extras) return "/pairs";
  layout_.emplace(quads, *extras);
  return "/quads/" + text_of(*extras);
}

int64_t WidenedLayer::padded() const { return padded_panels(form_) * kWidenedPanel; }

std::vector<float> WidenedLayer::spread(const std::vector<float>& numbers) const {
  std::vector<float> all(static_cast<size_t>(padded()), 0);
  const int64_t results = form_.is_depthwise() ? form_.groups : form_.results;
  const int64_t count =
      std::min<int64_t>(static_cast<int64_t>(numbers.size()), form_.groups * form_.results);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = i / results * form_.panels() * kWidenedPanel + i % results;
    all[static_cast<size_t>(at)] = numbers[static_cast<size_t>(i)];
  }
  return all;
}

void WidenedLayer::run(sdk::Call& call, const WidenedConvolution& window, int64_t images,
                       const Tensors& tensors) const {
  constexpr int64_t kProductsPerThread = 1 << 17;
  WidenedConvolution c = window;
  c.groups = form_.groups;
  c.channels = form_.channels;
  c.results = form_.results;
  c.is_signed = tensors.is_signed;
  c.source_zero = tensors.source_zero;
  if (layout_) {
    c.bytes = layout_->of(weights_.get());
  } else {
    c.weights = static_cast<const int8_t*>(weights_.get());
  }
  c.scales = tensors.scales ? tensors.scales : scales_.data();
  c.bias = bias_.data();
  c.steps = steps_.data();
  c.step_count = steps_.size();
  c.target_type = form_.target_type;
  c.target_zero = form_.target_zero;
  const int64_t positions = images * c.target[0] * c.target[1] * c.target[2];
  const int64_t tasks = widened_tasks_of(c, positions);
  const int64_t products = positions * c.groups * c.results * c.taps() * c.channels;
  const int64_t parts = std::min(
      {tasks, 1 + products / kProductsPerThread, static_cast<int64_t>(call.thread_count())});
  const int64_t scratch = widened_scratch_of(c);
  auto* rows = call.scratch<int16_t>(parts * scratch);
  const sdk::Span span = call.span(layout_ ? "int8" : "int16");
  call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    const FlushDenormals flush;
    convolve_widened(c, static_cast<const uint8_t*>(tensors.source),
                     static_cast<const uint8_t*>(tensors.addend), tensors.target, positions,
                     begin * tasks / parts, end * tasks / parts, rows + begin * scratch);
  });
}

void WidenedLayer::run(sdk::Call& call, int64_t rows, const Tensors& tensors) const {
  WidenedConvolution window;
  window.source[2] = rows;
  window.target[2] = rows;
  run(call, window, 1, tensors);
}

}  // namespace gantry::x86
