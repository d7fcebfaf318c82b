// SPDX-License-Identifier: Apache-2.0
// Highway's exponential function, for one of its targets: included again for each.
#if defined(GANTRY_X86_ATTENTION_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_ATTENTION_EXPONENTIAL_INL_H_
#undef GANTRY_X86_ATTENTION_EXPONENTIAL_INL_H_
#else
#define GANTRY_X86_ATTENTION_EXPONENTIAL_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>

#endif
