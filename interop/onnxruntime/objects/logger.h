// SPDX-License-Identifier: Apache-2.0
// OrtLogger: what libraries write goes to the host's log. Any thread.
#pragma once

#include <gantry/provider.h>

namespace gantry::ort {

struct Logger {
  const gantry_host* host = nullptr;
};

}  // namespace gantry::ort
