// SPDX-License-Identifier: Apache-2.0
#include "matmul/packed/weights.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "onednn/digest.h"
#include "onednn/packed_share.h"
#include "onednn/threads.h"

namespace gantry::x86 {
namespace {

using Plain = PanelWeights::Plain;

/// Columns padded to whole half panels.
int64_t packed_columns(int64_t columns) {
  constexpr int64_t kHalf = kPanelColumns / 2;
  return (columns + kHalf - 1) / kHalf * kHalf;
}

void fill_panel(const Plain& plain, int64_t first, float* target) {
  const int64_t width = panel_width(plain.columns, first);
  const int64_t count = std::min(width, plain.columns - first);
  const auto* from = static_cast<const std::byte*>(plain.data);
  const auto copy = [&](float* to, int64_t offset, int64_t floats) {
    std::memcpy(to, from + offset * int64_t{sizeof(float)},
                static_cast<size_t>(floats) * sizeof(float));
  };
  if (count < width) std::fill_n(target, width * plain.inner, 0.0F);
  if (plain.taps > 1) {
    const int64_t channels = plain.inner / plain.taps;
    for (int64_t k = 0; k < plain.inner; ++k) {
      float* const line = target + (k % plain.taps * channels + k / plain.taps) * width;
      for (int64_t column = 0; column < count; ++column)
        copy(line + column, (first + column) * plain.inner + k, 1);
    }
  } else if (plain.is_transposed) {
    // In square blocks that fit the L1 cache.
    constexpr int64_t kSquare = 16;
    float line[kSquare];
    for (int64_t k = 0; k < plain.inner; k += kSquare) {
      const int64_t length = std::min(kSquare, plain.inner - k);
      for (int64_t column = 0; column < count; ++column) {
        copy(line, (first + column) * plain.inner + k, length);
        for (int64_t i = 0; i < length; ++i) target[(k + i) * width + column] = line[i];
      }
    }
  } else {
    for (int64_t k = 0; k < plain.inner; ++k)
      copy(target + k * width, k * plain.columns + first, count);
  }
  if (plain.scales.empty()) return;
  for (int64_t k = 0; k < plain.inner; ++k) {
    for (int64_t column = 0; column < count; ++column)
      target[k * width + column] *= plain.scales[static_cast<size_t>(first + column)];
  }
}

void fill_narrow_panel(const Plain& plain, int64_t first, StorageDtype dtype, uint16_t* target) {
  std::vector<float> floats(static_cast<size_t>(panel_width(plain.columns, first) * plain.inner));
  fill_panel(plain, first, floats.data());
  narrow(floats.data(), static_cast<int64_t>(floats.size()), dtype, target);
}

/// The storage dtype. Scaled elements are exact in 16 bits only by chance, so they stay f32.
StorageDtype narrowest(const Plain& plain) {
  if (!plain.scales.empty()) return StorageDtype::kFloat;
  return narrowest_dtype(plain.data, plain.inner * plain.columns);
}

/// The dtype as cached in `choices`, one letter.
StorageDtype cached_elements(sdk::Choices& choices, const Plain& plain) {
  constexpr std::string_view kLetters = "fbh";
  const std::string& kept = choices.keep(
      "numbers", [&] { return std::string(1, kLetters[static_cast<size_t>(narrowest(plain))]); });
  return static_cast<StorageDtype>(kLetters.find(kept.front()));
}

Digest content_of(const Plain& plain, const std::string& form) {
  const auto count = static_cast<uint64_t>(plain.inner * plain.columns);
  const Digest elements = digest_of(plain.data, count * sizeof(float), form);
  return digest_of(plain.scales.data(), plain.scales.size() * sizeof(float),
                   {reinterpret_cast<const char*>(elements.data()), sizeof(elements)});
}

}  // namespace

void PanelWeights::pack(const gantry_host* host, sdk::Choices& choices, const Plain& plain) {
  inner_ = plain.inner;
  columns_ = plain.columns;
  dtype_ = cached_elements(choices, plain);
  const std::string form = "panels of " + std::to_string(bytes_of(dtype_)) + "/" +
                           std::to_string(plain.inner) + "/" + std::to_string(plain.columns) +
                           (plain.is_transposed ? "T" : "") + std::to_string(plain.taps);
  const Digest content = cached_digest(choices, "content", [&] { return content_of(plain, form); });
  const Digest kind = digest_of(form.data(), form.size(), "");
  const auto size_bytes =
      static_cast<uint64_t>(packed_columns(columns_) * inner_ * bytes_of(dtype_));
  share_ = share_packed(host, {content, kind}, size_bytes, [&](void* target) {
    const int64_t panels = (plain.columns + kPanelColumns - 1) / kPanelColumns;
    with_threads(machine_threads(), [&] {
      for_each(panels, [&](int64_t panel) {
        const int64_t first = panel * kPanelColumns;
        const int64_t offset = first * plain.inner;
        if (dtype_ == StorageDtype::kFloat)
          return fill_panel(plain, first, static_cast<float*>(target) + offset);
        fill_narrow_panel(plain, first, dtype_, static_cast<uint16_t*>(target) + offset);
      });
    });
  });
}

}  // namespace gantry::x86
