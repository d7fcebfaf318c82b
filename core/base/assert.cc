// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace gantry {

void fail_assertion(const char* condition, const char* message, const char* file,
                    int line) noexcept {
  std::fprintf(stderr, "gantry: internal error: expected that %s; found that %s is false (%s:%d)\n",
               message, condition, file, line);
  std::abort();
}

}  // namespace gantry
