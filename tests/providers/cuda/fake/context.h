// SPDX-License-Identifier: Apache-2.0
// Switches between stacks within a thread. swapcontext() makes a system call for the signal mask
// each time, which would dominate kernels with barriers; on x86-64 the switch is implemented here.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace gantry::test {

#if defined(__x86_64__)

extern "C" void gantry_switch_stack(void** out_from, void* to);

/// A suspended stack.
struct Context {
  void* top = nullptr;  // stack pointer; registers are saved there

  /// Prepares a stack that starts with `function`, which must not return.
  void start(char* stack, size_t size_bytes, void (*function)()) {
    auto end = (reinterpret_cast<uintptr_t>(stack) + size_bytes) & ~uintptr_t{15};
    auto* words = reinterpret_cast<void**>(end) -
                  2;  // the ABI: at a function's entry the stack pointer is 8 off a multiple of 16
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
