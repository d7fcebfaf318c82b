// SPDX-License-Identifier: Apache-2.0
// A provider file that breaks one rule of `gantry provider lint`, chosen when it is compiled. Only
// looked at, never opened.
#include <gantry/provider.h>

#include <pthread.h>

#define GOOD 0
#define EXPORTS 1
#define UNIQUE_SYMBOLS 2
#define TEXT_RELOCATIONS 3
#define STATIC_INITIALISERS 4
#define C_LIBRARY 5
#define NO_ENTRY 6

GANTRY_PROVIDER_NOTE

#if LINT_FAKE == EXPORTS
extern "C" GANTRY_EXPORT int lint_fake_other_export() { return 1; }
#elif LINT_FAKE == UNIQUE_SYMBOLS
template <class T>
struct GANTRY_EXPORT LintFakeUnique {
  static inline T counter = 0;
};
template struct LintFakeUnique<int>;
#elif LINT_FAKE == TEXT_RELOCATIONS
__asm__(".text\nlint_fake_table:\n.quad lint_fake_table\n");
#elif LINT_FAKE == STATIC_INITIALISERS
int lint_fake_count = pthread_self() != 0 ? 1 : 0;
#endif

#if LINT_FAKE == NO_ENTRY
extern "C" gantry_error* lint_fake_entry(const gantry_offer*, gantry_accept*) {
#else
extern "C" GANTRY_EXPORT gantry_error* gantry_provider_v1(const gantry_offer*, gantry_accept*) {
#endif
#if LINT_FAKE == C_LIBRARY
  pthread_t thread = {};  // of libc.so.6 since 2.34
  pthread_create(
      &thread, nullptr, [](void* arg) { return arg; }, nullptr);
#endif
  return nullptr;
}
