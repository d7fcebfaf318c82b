// SPDX-License-Identifier: Apache-2.0
#include "matmul/nbits/dequantize.h"

#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matmul/nbits/dequantize.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, kGroup>;
using Integers = hn::RebindToSigned<Floats>;
using Vector = hn::Vec<Floats>;

/// `offset`: block * kGroup + the first of the columns, which is `first` in its group.
HWY_INLINE Vector scales_at(const ColumnGroup& group, int64_t offset, int64_t first) {
  const Floats d;
  if (!group.multiples) return hn::LoadU(d, group.scales + offset);
  const hn::Rebind<uint16_t, Floats> narrow;
  const auto multiples = hn::PromoteTo(Integers(), hn::LoadU(narrow, group.multiples + offset));
  return hn::Mul(hn::ConvertTo(d, multiples), hn::LoadU(d, group.steps + first));
}

HWY_INLINE Vector zeros_at(const ColumnGroup& group, const BlockShape& shape, int64_t offset) {
  const Floats d;
  if (group.zero_floats) return hn::LoadU(d, group.zero_floats + offset);
  if (!group.zero_bytes) return hn::Set(d, static_cast<float>(1 << (shape.bits - 1)));
  const hn::Rebind<uint8_t, Floats> narrow;
  return hn::ConvertTo(d, hn::PromoteTo(Integers(), hn::LoadU(narrow, group.zero_bytes + offset)));
}

template <int kBits>
HWY_INLINE void dequantize_bits(const ColumnGroup& group, const BlockShape& shape, int64_t begin,
                                int64_t end, int64_t width, float* panel) {
  const Floats d;
  const Integers integers;
  const auto mask = hn::Set(integers, (1 << kBits) - 1);
  const int64_t bytes = shape.vectors() * kGroup * kQuad;  // of a block
  for (int64_t block = begin; block < end; ++block) {
    float* rows = panel + (block - begin) * shape.block * width;
    for (int64_t first = 0; first < kGroup; first += static_cast<int64_t>(hn::Lanes(d))) {
      const Vector scale = scales_at(group, block * kGroup + first, first);
      const Vector zero = zeros_at(group, shape, block * kGroup + first);
      const auto store = [&](hn::Vec<Integers> number, float* to) HWY_ATTR {
        hn::StoreU(hn::Mul(hn::Sub(hn::ConvertTo(d, number), zero), scale), d, to);
      };
      const uint8_t* from = group.numbers + block * bytes + first * kQuad;
      float* to = rows + first;
      for (int64_t vector = 0; vector < shape.vectors(); ++vector) {
        auto rest = hn::LoadU(integers, reinterpret_cast<const int32_t*>(from));
        for (int k = 0; k < kQuad; ++k) {
          store(hn::And(rest, mask), to + k * width);
          if constexpr (kBits == 4)
            store(hn::And(hn::ShiftRight<4>(rest), mask), to + (kQuad + k) * width);
          rest = hn::ShiftRight<8>(rest);
        }
        from += kGroup * kQuad;
        to += kQuad * (8 / kBits) * width;
      }
    }
  }
}

void dequantize(const ColumnGroup& group, const BlockShape& shape, int64_t begin, int64_t end,
                int64_t width, float* panel) {
  if (shape.bits == 8) return dequantize_bits<8>(group, shape, begin, end, width, panel);
  dequantize_bits<4>(group, shape, begin, end, width, panel);
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(dequantize);

void dequantize(const ColumnGroup& group, const BlockShape& shape, int64_t begin, int64_t end,
                int64_t width, float* panel) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(dequantize)(group, shape, begin, end, width, panel);
}

}  // namespace gantry::x86
#endif
