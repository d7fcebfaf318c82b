// SPDX-License-Identifier: Apache-2.0
#include "interrupt.h"

#include <nanobind/nanobind.h>

namespace gantry::python {
namespace {

namespace nb = nanobind;

// Read by a signal handler, so these are statics with constant initialisation.
std::atomic<std::atomic<bool>*> g_cancel{nullptr};
struct sigaction g_previous;

static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");
static_assert(std::atomic<std::atomic<bool>*>::is_always_lock_free, "read by a signal handler");

void on_interrupt(int signal, siginfo_t* info, void* context) {
  if (std::atomic<bool>* cancel = g_cancel.load(std::memory_order_relaxed))
    cancel->store(true, std::memory_order_relaxed);
  if ((g_previous.sa_flags & SA_SIGINFO) != 0) {
    g_previous.sa_sigaction(signal, info, context);
  } else {
    g_previous.sa_handler(signal);
  }
}

bool has_handler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

}  // namespace

InterruptScope::InterruptScope(bool is_main_thread, std::atomic<bool>& cancel) {
  if (!is_main_thread) return;
  if (sigaction(SIGINT, nullptr, &g_previous) != 0 || !has_handler(g_previous)) return;
  g_cancel.store(&cancel, std::memory_order_relaxed);
  struct sigaction own = {};
  own.sa_sigaction = on_interrupt;
  own.sa_flags = SA_SIGINFO | (g_previous.sa_flags & (SA_RESTART | SA_ONSTACK));
  own.sa_mask = g_previous.sa_mask;
  installed_ = sigaction(SIGINT, &own, nullptr) == 0;
}

InterruptScope::~InterruptScope() {
  if (!installed_) return;
  sigaction(SIGINT, &g_previous, nullptr);
  g_cancel.store(nullptr, std::memory_order_relaxed);
}

bool is_main_thread() {
  // A thread's identity does not change during its lifetime.
  static const unsigned long main_thread = nb::cast<unsigned long>(
      nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  return PyThread_get_thread_ident() == main_thread;
}

}  // namespace gantry::python
