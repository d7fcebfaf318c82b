// SPDX-License-Identifier: Apache-2.0
// Highway's exponential function. Included once for each Highway target.
#if defined(GANTRY_X86_ATTENTION_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_ATTENTION_EXPONENTIAL_INL_H_
#undef GANTRY_X86_ATTENTION_EXPONENTIAL_INL_H_
#else
#define GANTRY_X86_ATTENTION_EXPONENTIAL_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>

#endif
