// SPDX-License-Identifier: Apache-2.0
// OrtSessionOptions: what a program sets before it makes a session, as gantry's configuration. One
// thread at a time.
#pragma once

#include <gantry/session.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "c_api/environment.h"
#include "objects/api_table.h"

namespace gantry::ort {

struct SessionSettings {
  int threads = 0;  ///< of a run; 0: one for each core
  bool has_own_threads = true;
  int optimization = 99;  ///< GraphOptimizationLevel
  bool profiles = false;
  std::string profile_prefix;
  std::string optimized_file;              ///< the model is written there; empty: it is not
  std::vector<std::string> devices;        ///< "TYPE:id", the most preferred first
  std::map<std::string, int64_t> extents;  ///< of dimensions, by name or denotation
  std::map<std::string, gantry::Value> initializers;
  std::vector<std::string> libraries;  ///< of operators
  std::map<std::string, std::string> entries;
  /// True ends loading, from any thread; clones share it.
  std::shared_ptr<std::atomic<bool>> is_cancelled = std::make_shared<std::atomic<bool>>(false);

  /// What makes a gantry::Session. Errors: as RuntimeOptions.
  [[nodiscard]] SessionOptions of_session(const Environment& environment) const;
};

void add_session_options_functions(ApiTable& table);
void add_provider_functions(ApiTable& table);

}  // namespace gantry::ort
