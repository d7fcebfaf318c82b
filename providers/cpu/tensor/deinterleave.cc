// SPDX-License-Identifier: Apache-2.0
#include "tensor/deinterleave.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/deinterleave.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class U>
HWY_INLINE void deinterleave_as(const char* x, int64_t streams, int64_t count, char* y,
                                int64_t pitch) {
  const hn::ScalableTag<U> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto store = [=](auto v, int64_t stream, int64_t i) HWY_ATTR {
    hn::StoreU(v, d, reinterpret_cast<U*>(y + stream * pitch) + i);
  };
  const auto* from = reinterpret_cast<const U*>(x);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes, from += streams * lanes) {
    hn::Vec<decltype(d)> a;
    hn::Vec<decltype(d)> b;
    hn::Vec<decltype(d)> c;
    hn::Vec<decltype(d)> e;
    if (streams == 2) {
      hn::LoadInterleaved2(d, from, a, b);
    } else if (streams == 3) {
      hn::LoadInterleaved3(d, from, a, b, c);
      store(c, 2, i);
    } else {
      hn::LoadInterleaved4(d, from, a, b, c, e);
      store(c, 2, i);
      store(e, 3, i);
    }
    store(a, 0, i);
    store(b, 1, i);
  }
  for (; i < count; ++i) {
    for (int64_t s = 0; s < streams; ++s) {
      std::memcpy(y + s * pitch + i * static_cast<int64_t>(sizeof(U)),
                  x + (i * streams + s) * static_cast<int64_t>(sizeof(U)), sizeof(U));
    }
  }
}

void deinterleave_bytes(const char* x, int64_t streams, int64_t count, char* y, int64_t pitch) {
  deinterleave_as<uint8_t>(x, streams, count, y, pitch);
}
void deinterleave_32(const char* x, int64_t streams, int64_t count, char* y, int64_t pitch) {
  deinterleave_as<uint32_t>(x, streams, count, y, pitch);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

HWY_EXPORT(deinterleave_bytes);
HWY_EXPORT(deinterleave_32);

void deinterleave(const char* x, int element_bytes, int64_t streams, int64_t count, char* y,
                  int64_t pitch) {
  if (element_bytes == 1) {
    HWY_DYNAMIC_DISPATCH(deinterleave_bytes)(x, streams, count, y, pitch);
  } else {
    HWY_DYNAMIC_DISPATCH(deinterleave_32)(x, streams, count, y, pitch);
  }
}

}  // namespace gantry::cpu
#endif  // HWY_ONCE
