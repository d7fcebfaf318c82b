// SPDX-License-Identifier: Apache-2.0
// CPU_FEATURE_ACTIVE: what this CPU and the system run, as the C library found it when the process
// started. On x86 only.
#pragma once

// The C library's header says _Bool, which Clang does not know in C++.
#if defined(__clang__)
#define _Bool bool
#endif
#include <sys/platform/x86.h>  // IWYU pragma: export
#if defined(__clang__)
#undef _Bool
#endif
