// SPDX-License-Identifier: Apache-2.0
// Error codes for errors of the dynamic loader, which gives only a text.
#pragma once

#include <gantry/error.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace gantry {

/// OUT_OF_MEMORY if the text of dlerror says that memory or descriptors ran out, which may pass;
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
