// SPDX-License-Identifier: Apache-2.0
// Memory of this process, as the operating system reports it.
#pragma once

#include <cstdint>

namespace gantry::cli {

/// Resident set size in bytes; 0 if it is unknown.
uint64_t resident_bytes();
/// Peak resident set size in bytes since the process started; 0 if it is unknown.
uint64_t peak_resident_bytes();

}  // namespace gantry::cli
