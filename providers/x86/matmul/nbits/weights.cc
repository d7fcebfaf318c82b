// SPDX-License-Identifier: Apache-2.0
#include "matmul/nbits/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "onednn/digest.h"
#include "onednn/library.h"
#include "onednn/packed_share.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kAlignment = 64;

int64_t aligned(int64_t size_bytes) { return (size_bytes + kAlignment - 1) & -kAlignment; }

/// Packs one block of a column into its lane. A lane of a vector has one quad or, with 4 bits, two.
void spread(const uint8_t* source, const BlockShape& shape, uint8_t* lane) {
  for (int64_t vector = 0; vector < shape.vectors(); ++vector) {
    const uint8_t* from = source + vector * kQuad;
    uint8_t* to = lane + vector * kGroup * kQuad;
    if (shape.bits == 8) {
      std::memcpy(to, from, kQuad);
    } else {  // eight elements: the first four into the low nibbles
      to[0] = static_cast<uint8_t>((from[0] & 15) | (from[2] << 4));
      to[1] = static_cast<uint8_t>((from[0] >> 4) | (from[2] & 0xf0));
      to[2] = static_cast<uint8_t>((from[1] & 15) | (from[3] << 4));
      to[3] = static_cast<uint8_t>((from[1] >> 4) | (from[3] & 0xf0));
    }
  }
}

/// The power of two whose multiples up to 65535 represent a column's scales within the relative
/// error `tolerance`; 0: there is none.
float step_of(const float* scales, int64_t count, float tolerance) {
  constexpr float kMost = 65535;
  const float largest = *std::max_element(scales, scales + count);
  if (largest == 0 && std::count(scales, scales + count, 0.0F) == count) return 1;
  if (!(largest > 0) || !std::isfinite(largest)) return 0;
  int exponent = 0;
  std::frexp(largest / kMost, &exponent);
  const float step = std::ldexp(1.0F, exponent);
  if (step < std::numeric_limits<float>::min()) return 0;
  const bool are_near = std::all_of(scales, scales + count, [&](float scale) {
    return scale >= 0 && std::abs(std::nearbyint(scale / step) * step - scale) <= tolerance * scale;
  });
  return are_near ? step : 0;
}

Digest digest_with(const std::vector<float>& numbers, const Digest& before) {
  return digest_of(numbers.data(), numbers.size() * sizeof(float),
                   {reinterpret_cast<const char*>(before.data()), sizeof(before)});
}

}  // namespace

void BlockWeights::pack(const gantry_host* host, const PlainBlocks& plain) {
  shape_ = plain.shape;
  const auto is_byte = [](float x) { return x >= 0 && x <= 255 && x == std::floor(x); };
  const auto middle = static_cast<float>(1 << (shape_.bits - 1));
  const std::vector<float>& zeros = plain.zeros;
  if (std::all_of(zeros.begin(), zeros.end(), [&](float x) { return x == middle; })) {
    zeros_ = Zeros::kNone;
  } else {
    zeros_ = std::all_of(zeros.begin(), zeros.end(), is_byte) ? Zeros::kBytes : Zeros::kFloats;
  }
  has_multiples_ = true;
  for (int64_t column = 0; has_multiples_ && column < shape_.columns; ++column) {
    const float* scales = plain.scales.data() + column * shape_.blocks();
    has_multiples_ = step_of(scales, shape_.blocks(), plain.scale_tolerance) > 0;
  }
  const std::string form = "blocks/" + std::to_string(shape_.bits) + "/" +
                           std::to_string(shape_.block) + "/" + std::to_string(shape_.inner) + "/" +
                           std::to_string(shape_.columns) + (has_multiples_ ? "/multiples" : "");
  const auto size =
      static_cast<uint64_t>(shape_.columns * shape_.padded() * shape_.bits / 8);  // of the elements
  const Digest content =
      digest_with(zeros, digest_with(plain.scales, digest_of(plain.numbers, size, form)));
  const Digest kind = digest_of(form.data(), form.size(), "");
  share_ = share_packed(host, {content, kind}, static_cast<uint64_t>(offsets().size),
                        [&](void* target) { fill(plain, static_cast<uint8_t*>(target)); });
}

int64_t BlockWeights::group_count() const { return (shape_.columns + kGroup - 1) / kGroup; }

BlockWeights::Offsets BlockWeights::offsets() const {
  const int64_t blocks = group_count() * shape_.blocks();
  Offsets at;
  at.scales = aligned(blocks * shape_.vectors() * kGroup * kQuad);
  const auto bytes_of_scale =
      static_cast<int64_t>(has_multiples_ ? sizeof(uint16_t) : sizeof(float));
  at.steps = at.scales + aligned(blocks * kGroup * bytes_of_scale);
  at.zeros = at.steps + (has_multiples_ ? group_count() * kGroup * int64_t{sizeof(float)} : 0);
  const int64_t bytes_of_zero = zeros_ == Zeros::kNone ? 0 : zeros_ == Zeros::kBytes ? 1 : 4;
  at.size = at.zeros + blocks * kGroup * bytes_of_zero;
  return at;
}

void BlockWeights::fill(const PlainBlocks& plain, uint8_t* target) const {
  with_threads(machine_threads(), [&] {
    for_each(group_count(), [&](int64_t index) { fill_group(plain, index, target); });
  });
}

void BlockWeights::fill_scales(const PlainBlocks& plain, int64_t index, uint8_t* target) const {
  const Offsets at = offsets();
  const int64_t blocks = shape_.blocks();
  const int64_t offset = index * blocks * kGroup;
  auto* floats = reinterpret_cast<float*>(target + at.scales) + offset;
  auto* multiples = reinterpret_cast<uint16_t*>(target + at.scales) + offset;
  auto* steps = reinterpret_cast<float*>(target + at.steps) + index * kGroup;
  const std::vector<float> none(static_cast<size_t>(blocks));
  for (int lane = 0; lane < kGroup; ++lane) {
    const int64_t column = index * kGroup + lane;
    const float* scales =
        column < shape_.columns ? plain.scales.data() + column * blocks : none.data();
    if (has_multiples_) steps[lane] = step_of(scales, blocks, plain.scale_tolerance);
    for (int64_t block = 0; block < blocks; ++block) {
      if (has_multiples_) {
        multiples[block * kGroup + lane] =
            static_cast<uint16_t>(std::nearbyint(scales[block] / steps[lane]));
      } else {
        floats[block * kGroup + lane] = scales[block];
      }
    }
  }
}

void BlockWeights::fill_group(const PlainBlocks& plain, int64_t index, uint8_t* target) const {
  fill_scales(plain, index, target);
  const Offsets at = offsets();
  const int64_t blocks = shape_.blocks();
  const int64_t bytes = shape_.block * shape_.bits / 8;  // of a block of a column
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t offset = (index * blocks + block) * kGroup;
    uint8_t* numbers = target + offset * bytes;
    uint8_t* zero_bytes = target + at.zeros + offset;
    auto* zero_floats = reinterpret_cast<float*>(target + at.zeros) + offset;
    for (int lane = 0; lane < kGroup; ++lane) {
      const int64_t column = index * kGroup + lane;
      const bool exists = column < shape_.columns;
      const auto from = static_cast<size_t>(column * blocks + block);
      if (exists) {
        spread(plain.numbers + from * static_cast<size_t>(bytes), shape_, numbers + lane * kQuad);
      } else {
        for (int64_t vector = 0; vector < shape_.vectors(); ++vector)
          std::memset(numbers + (vector * kGroup + lane) * kQuad, 0, kQuad);
      }
      if (zeros_ == Zeros::kNone) continue;
      const float zero = exists ? plain.zeros[from] : 0;
      if (zeros_ == Zeros::kBytes) {
        zero_bytes[lane] = static_cast<uint8_t>(zero);
      } else {
        zero_floats[lane] = zero;
      }
    }
  }
}

ColumnGroup BlockWeights::group(int64_t index) const {
  const auto* data = static_cast<const uint8_t*>(share_.get());
  const Offsets at = offsets();
  const int64_t offset = index * shape_.blocks() * kGroup;
  ColumnGroup group;
  group.numbers = data + offset * (shape_.block * shape_.bits / 8);
  if (has_multiples_) {
    group.multiples = reinterpret_cast<const uint16_t*>(data + at.scales) + offset;
    group.steps = reinterpret_cast<const float*>(data + at.steps) + index * kGroup;
  } else {
    group.scales = reinterpret_cast<const float*>(data + at.scales) + offset;
  }
  if (zeros_ == Zeros::kBytes) group.zero_bytes = data + at.zeros + offset;
  if (zeros_ == Zeros::kFloats)
    group.zero_floats = reinterpret_cast<const float*>(data + at.zeros) + offset;
  return group;
}

}  // namespace gantry::x86
