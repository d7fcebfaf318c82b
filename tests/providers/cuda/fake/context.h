// SPDX-License-Identifier: Apache-2.0
// Going from one stack to another within a thread of the system. The C library's way asks the
// kernel for the signal mask each time, which is most of the time of a kernel with barriers; on
// x86-64 it is done here.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace gantry::test {

#if defined(__x86_64__)

extern "C" void gantry_switch_stack(void** out_from, void* to);

/// A place to go on from.
struct Context {
  void* top = nullptr;  // of the stack, where registers were saved

  /// Begins with `function`, which must not return, on a stack of its own.
  void start(char* stack, size_t size_bytes, void (*function)()) {
    auto end = (reinterpret_cast<uintptr_t>(stack) + size_bytes) & ~uintptr_t{15};
    auto* words = reinterpret_cast<void**>(end) - 2;  // a function begins 8 off a multiple of 16
    *words = reinterpret_cast<void*>(function);
    for (int i = 0; i < 6; ++i) *--words = nullptr;
    top = words;
  }
  void go_to(Context& other) { gantry_switch_stack(&top, other.top); }
};

#else

struct Context {
  ucontext_t place;

  void start(char* stack, size_t size_bytes, void (*function)()) {
    getcontext(&place);
    place.uc_stack.ss_sp = stack;
    place.uc_stack.ss_size = size_bytes;
    place.uc_link = nullptr;
    makecontext(&place, function, 0);
  }
  void go_to(Context& other) { swapcontext(&place, &other.place); }
};

#endif

}  // namespace gantry::test
