// SPDX-License-Identifier: Apache-2.0
// OrtEnv and OrtThreadingOptions: what the sessions of a process share. Any thread.
#pragma once

#include <gantry/runtime.h>

#include <memory>
#include <string>
#include <vector>

#include "objects/api_table.h"

namespace gantry::ort {

struct Allocator;

/// OrtThreadingOptions.
struct ThreadingOptions {
  int threads = 0;  ///< of a run; 0: one for each core
};

/// OrtEnv. All of a process share one runtime, which is made with the first.
struct Environment {
  std::shared_ptr<Runtime> runtime;
  /// of sessions without threads of their own
  ThreadingOptions threading;
  bool has_logger = false;  ///< log lines go to a function of the program

  Environment() = default;
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
};

/// The process's runtime, which lives as long as somebody holds it.
std::shared_ptr<Runtime> shared_runtime();

/// The types of devices that are ready, the CPU last; simulated ones are left out.
std::vector<std::string> device_types(Runtime& runtime);

/// A copy of a text that the program frees by `allocator`.
char* copy_text(Allocator& allocator, const std::string& text);

void add_environment_functions(ApiTable& table);

}  // namespace gantry::ort
