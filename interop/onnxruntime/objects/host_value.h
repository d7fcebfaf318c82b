// SPDX-License-Identifier: Apache-2.0
// Values of gantry, as its providers see them, as values of the API. Any thread.
#pragma once

#include <gantry/provider.h>

#include "objects/value.h"

namespace gantry::ort {

/// A tensor of the host as a value: strings are copied, other elements borrowed. Requires dense
/// elements in host memory. ApiError: no tensor.
Value value_of(const gantry_host* host, const gantry_value& value);

/// Likewise, with elements of its own.
Value copy_of(const gantry_host* host, const gantry_value& value);

}  // namespace gantry::ort
