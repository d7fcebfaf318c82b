/* SPDX-License-Identifier: Apache-2.0 */
/* The published build of oneDNN calls two functions of its compiler's run-time library, which is
 * not free. They are memcpy and memset under other names. */
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
/* NOLINTBEGIN(readability-identifier-naming): that library's names */
EXPORT void* _intel_fast_memcpy(void* target, const void* source, size_t size_bytes);
EXPORT void* _intel_fast_memset(void* target, int value, size_t size_bytes);
/* NOLINTEND(readability-identifier-naming) */

void* _intel_fast_memcpy(void* target, const void* source, size_t size_bytes) {
  return memcpy(target, source, size_bytes);
}
void* _intel_fast_memset(void* target, int value, size_t size_bytes) {
  return memset(target, value, size_bytes);
}
