// SPDX-License-Identifier: Apache-2.0
// Assertions of invariants that hold whatever models, users and providers do: a failure is a
// mistake in this code. Checked in development and sanitizer builds; other builds do not evaluate
// the condition. Failures that a model or a caller can cause are Errors instead.
#pragma once

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GANTRY_HAS_ASSERTS 1
#else
#define GANTRY_HAS_ASSERTS 0
#endif

/// `message`: a literal, the invariant in words. A failure ends the process with SIGABRT.
#if GANTRY_HAS_ASSERTS
#define GANTRY_ASSERT(condition, message) \
  ((condition) ? static_cast<void>(0)     \
               : ::gantry::fail_assertion(#condition, message, __FILE__, __LINE__))
#else
#define GANTRY_ASSERT(condition, message) static_cast<void>(sizeof((condition) ? 1 : 0))
#endif

namespace gantry {

/// Writes the invariant, the condition, file and line to standard error and ends the process.
[[noreturn]] void fail_assertion(const char* condition, const char* message, const char* file,
                                 int line) noexcept;

}  // namespace gantry
