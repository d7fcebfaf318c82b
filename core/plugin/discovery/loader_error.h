// SPDX-License-Identifier: Apache-2.0
// Errors of the dynamic loader, of which there is only a text.
#pragma once

#include <gantry/error.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace gantry {

/// OUT_OF_MEMORY if a text of dlerror says that memory or descriptors were short, which passes;
/// else UNAVAILABLE.
inline Code code_of_loader_error(std::string_view text) {
  for (const std::string_view shortage :
       {std::string_view(std::strerror(ENOMEM)), std::string_view("out of memory"),
        std::string_view("Too many open files")}) {
    if (text.find(shortage) != std::string_view::npos) return Code::kOutOfMemory;
  }
  return Code::kUnavailable;
}

}  // namespace gantry
