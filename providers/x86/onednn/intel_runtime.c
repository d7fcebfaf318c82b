/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's published build was made by a compiler whose run-time library is not free. Of that
 * library it calls these two functions, which are the C library's under other names. */
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
