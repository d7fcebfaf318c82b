// SPDX-License-Identifier: Apache-2.0
#include "int8/widened_layer.h"

#include <algorithm>
#include <cstring>

#include "onednn/digest.h"
#include "onednn/packed_share.h"
#include "onednn/threads.h"

namespace gantry::x86 {
namespace {

/// A panel of a group's results, or, is_depthwise(), of channels.
void fill_panel(const WidenedLayer::Plain& plain, const WidenedConvolution& c, int64_t group,
                int64_t panel, uint8_t* target) {
  const bool is_depthwise = c.is_depthwise();
  const int64_t first = panel * kWidenedPanel;
  const int64_t count = std::min(kWidenedPanel, (is_depthwise ? c.groups : c.results) - first);
  const int64_t inner = plain.taps * c.channels;
  const auto* from =
      static_cast<const uint8_t*>(plain.numbers) + (group * c.results + first) * plain.result_step;
  uint8_t* to = target + (group * c.panels() + panel) * ((inner + 1) / 2) * 2 * kWidenedPanel;
  for (int64_t k = 0; k < inner; ++k) {
    const uint8_t* numbers =
        from + k % c.channels * plain.channel_step + k / c.channels * plain.tap_step;
    uint8_t* row = to + k / 2 * 2 * kWidenedPanel + k % 2;  // pairs stand together
    for (int64_t i = 0; i < count; ++i)
      row[i * 2] = static_cast<uint8_t>(numbers[i * plain.result_step] + plain.offset);
  }
}

/// All weights, on all cores.
void fill(const WidenedLayer::Plain& plain, const WidenedConvolution& c, uint8_t* target) {
  const int64_t panels = (c.is_depthwise() ? 1 : c.groups) * c.panels();
  with_threads(machine_threads(), [&] {
    for_each(panels, [&](int64_t panel) {
      fill_panel(plain, c, panel / c.panels(), panel % c.panels(), target);
    });
  });
}

int64_t packed_bytes(const WidenedLayer::Plain& plain, const WidenedConvolution& c) {
  const int64_t inner = (plain.taps * c.channels + 1) / 2 * 2;
  return (c.is_depthwise() ? 1 : c.groups) * c.panels() * kWidenedPanel * inner;
}

}  // namespace

bool is_library_exact(int64_t inner) {
  constexpr int64_t kMost = 32768;
  if (inner > kMost) return false;
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto has = [isa](dnnl::cpu_isa wanted) {
    return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
  };
  return has(dnnl::cpu_isa::avx512_core_vnni) || has(dnnl::cpu_isa::avx2_vnni);
}

std::string inexactness_of(const Fusion& fusion, int64_t inner) {
  if (is_library_exact(inner) || (int8_epilogue_of(fusion) && inner <= kMostWidenedProducts))
    return {};
  return "sums of its int8 products would not be exact on this CPU, or of more than " +
         std::to_string(kMostWidenedProducts);
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
  std::string form = "pairs/" + std::to_string(plain.groups);
  for (const int64_t number : {plain.results, plain.channels, plain.taps, plain.result_step,
                               plain.channel_step, plain.tap_step, int64_t{plain.offset}})
    form += "/" + std::to_string(number);
  const auto count =
      static_cast<uint64_t>(plain.groups * plain.results * plain.channels * plain.taps);
  const Digest content =
      kept_digest(choices, "content", [&] { return digest_of(plain.numbers, count, form); });
  const int64_t size_bytes = packed_bytes(plain, form_);
  weights_ = share_packed(host, {content, digest_of(form.data(), form.size(), "")},
                          static_cast<uint64_t>(size_bytes), [&](void* target) {
                            std::memset(target, 0, static_cast<size_t>(size_bytes));
                            fill(plain, form_, static_cast<uint8_t*>(target));
                          });
}

int64_t WidenedLayer::padded() const {
  return (form_.is_depthwise() ? 1 : form_.groups) * form_.panels() * kWidenedPanel;
}

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
  c.weights = static_cast<const int8_t*>(weights_.get());
  c.scales = tensors.scales ? tensors.scales : scales_.data();
  c.bias = bias_.data();
  c.steps = steps_.data();
  c.step_count = steps_.size();
  c.target_type = form_.target_type;
  c.target_zero = form_.target_zero;
  const int64_t places = images * c.target[0] * c.target[1] * c.target[2];
  const int64_t tasks = widened_tasks_of(c, places);
  const int64_t products = places * c.groups * c.results * c.taps() * c.channels;
  const int64_t parts = std::min(
      {tasks, 1 + products / kProductsPerThread, static_cast<int64_t>(call.thread_count())});
  const int64_t scratch = widened_scratch_of(c);
  auto* rows = call.scratch<int16_t>(parts * scratch);
  const sdk::Span span = call.span("words");
  call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    const FlushDenormals flush;
    convolve_widened(c, static_cast<const uint8_t*>(tensors.source),
                     static_cast<const uint8_t*>(tensors.addend), tensors.target, places,
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
