// SPDX-License-Identifier: Apache-2.0
// Memory of this process as the system counts it.
#pragma once

#include <cstdint>

namespace gantry::cli {

/// Resident now, in bytes; 0 if the system does not say.
uint64_t resident_bytes();
/// The most that was resident since the process started.
uint64_t peak_resident_bytes();

}  // namespace gantry::cli
