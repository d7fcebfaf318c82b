// SPDX-License-Identifier: Apache-2.0
// OrtRunOptions: of a run. Any thread may end the runs that use them.
#pragma once

#include <atomic>
#include <map>
#include <string>

#include "objects/api_table.h"

namespace gantry::ort {

struct RunSettings {
  std::atomic<bool> is_ended = false;  ///< runs end with an error
  std::string tag;
  int severity = 2;   ///< kept, without effect
  int verbosity = 0;  ///< likewise
  std::map<std::string, std::string> entries;
};

void add_run_options_functions(ApiTable& table);

}  // namespace gantry::ort
