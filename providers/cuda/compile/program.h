// SPDX-License-Identifier: Apache-2.0
// What is compiled and loaded: the text of a kernel. Its address is its identity, since each text
// is stored once per process (programs.h). Immutable.
#pragma once

#include <string>

namespace gantry::cuda {

/// The source of one kernel. Its entry is named `kernel` and takes one struct.
struct Program {
  std::string source;
};

}  // namespace gantry::cuda
