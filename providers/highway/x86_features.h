// SPDX-License-Identifier: Apache-2.0
// CPU_FEATURE_ACTIVE(name): true if the CPU and the operating system support a feature, as the C
// library detected it at process start. On x86 only.
#pragma once

// The C library's header uses _Bool, which Clang does not define in C++.
#if defined(__clang__)
#define _Bool bool
#endif
#include <sys/platform/x86.h>  // IWYU pragma: export
#if defined(__clang__)
#undef _Bool
#endif
