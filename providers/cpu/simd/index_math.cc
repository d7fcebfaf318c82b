// SPDX-License-Identifier: Apache-2.0
#include "simd/index_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/index_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class I>
HWY_INLINE bool wrap_any(const I* indices, int64_t count, int64_t extent, int32_t* wrapped) {
  const hn::ScalableTag<I> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto wide_extent = hn::Set(d, static_cast<I>(extent));
  const auto zero = hn::Zero(d);
  const auto last = hn::Set(d, static_cast<I>(extent - 1));
  auto outside = zero;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto index = hn::LoadU(d, indices + i);
    const auto from_begin = hn::Add(index, hn::IfThenElseZero(hn::Lt(index, zero), wide_extent));
    const auto is_outside =
        hn::VecFromMask(d, hn::Or(hn::Lt(from_begin, zero), hn::Gt(from_begin, last)));
    const auto inside = hn::AndNot(is_outside, from_begin);
    outside = hn::Or(outside, is_outside);
    if constexpr (sizeof(I) == 8) {
      const hn::Rebind<uint32_t, decltype(d)> narrow;
      const auto whole = hn::BitCast(hn::RebindToUnsigned<decltype(d)>(), inside);
      hn::StoreU(hn::TruncateTo(narrow, whole), narrow, reinterpret_cast<uint32_t*>(wrapped) + i);
    } else {
      hn::StoreU(inside, d, wrapped + i);
    }
  }
  bool are_within = hn::AllTrue(d, hn::Eq(outside, zero));
  for (; i < count; ++i) {
    const int64_t index = indices[i];
    const bool is_within = index >= -extent && index < extent;
    wrapped[i] = static_cast<int32_t>(!is_within ? 0 : index < 0 ? index + extent : index);
    are_within = are_within && is_within;
  }
  return are_within;
}

bool wrap_wide(const int64_t* indices, int64_t count, int64_t extent, int32_t* wrapped) {
  return wrap_any(indices, count, extent, wrapped);
}
bool wrap_narrow(const int32_t* indices, int64_t count, int64_t extent, int32_t* wrapped) {
  return wrap_any(indices, count, extent, wrapped);
}

uint64_t greatest_index(const int64_t* indices, int64_t count) {
  const hn::ScalableTag<uint64_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* all = reinterpret_cast<const uint64_t*>(indices);
  auto greatest = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) greatest = hn::Max(greatest, hn::LoadU(d, all + i));
  uint64_t result = hn::GetLane(hn::MaxOfLanes(d, greatest));
  for (; i < count; ++i) result = result > all[i] ? result : all[i];
  return result;
}

template <class U>
HWY_INLINE void take_any(const U* x, int64_t rows, int64_t columns, const int32_t* selected,
                         int64_t count, U* y) {
  const hn::ScalableTag<U> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < rows; ++row, x += columns, y += count) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      if constexpr (sizeof(U) == 8) {
        const auto narrow = hn::LoadU(hn::Rebind<int32_t, decltype(d)>(), selected + i);
        hn::StoreU(hn::GatherIndex(d, x, hn::PromoteTo(di, narrow)), d, y + i);
      } else {
        hn::StoreU(hn::GatherIndex(d, x, hn::LoadU(di, selected + i)), d, y + i);
      }
    }
    for (; i < count; ++i) y[i] = x[selected[i]];
  }
}

void take_32(const uint32_t* x, int64_t rows, int64_t columns, const int32_t* selected,
             int64_t count, uint32_t* y) {
  take_any(x, rows, columns, selected, count, y);
}
void take_64(const uint64_t* x, int64_t rows, int64_t columns, const int32_t* selected,
             int64_t count, uint64_t* y) {
  take_any(x, rows, columns, selected, count, y);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

HWY_EXPORT(wrap_wide);
HWY_EXPORT(wrap_narrow);
bool simd::wrap_indices(const int64_t* indices, int64_t count, int64_t extent, int32_t* wrapped) {
  return HWY_DYNAMIC_DISPATCH(wrap_wide)(indices, count, extent, wrapped);
}
bool simd::wrap_indices(const int32_t* indices, int64_t count, int64_t extent, int32_t* wrapped) {
  return HWY_DYNAMIC_DISPATCH(wrap_narrow)(indices, count, extent, wrapped);
}

HWY_EXPORT(greatest_index);
uint64_t simd::greatest_index(const int64_t* indices, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(greatest_index)(indices, count);
}
HWY_EXPORT(take_32);
HWY_EXPORT(take_64);
void simd::take_columns(const uint32_t* x, int64_t rows, int64_t columns, const int32_t* selected,
                        int64_t count, uint32_t* y) {
  HWY_DYNAMIC_DISPATCH(take_32)(x, rows, columns, selected, count, y);
}
void simd::take_columns(const uint64_t* x, int64_t rows, int64_t columns, const int32_t* selected,
                        int64_t count, uint64_t* y) {
  HWY_DYNAMIC_DISPATCH(take_64)(x, rows, columns, selected, count, y);
}

}  // namespace gantry::cpu
#endif  // HWY_ONCE
