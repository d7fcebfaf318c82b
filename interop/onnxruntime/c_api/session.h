// SPDX-License-Identifier: Apache-2.0
// OrtSession: a gantry::Session with what the C API asks of it. May be run by several threads.
#pragma once

#include <gantry/model.h>
#include <gantry/session.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "c_api/environment.h"
#include "c_api/session_options.h"
#include "objects/api_table.h"

namespace gantry::ort {

struct LoadedSession {
  std::shared_ptr<Runtime> runtime;
  std::vector<std::byte> model;  ///< bytes, if the model was given so
  std::string path;              ///< else its file
  std::unique_ptr<Session> session;
  std::vector<ValueInfo> required;     ///< inputs
  std::vector<ValueInfo> overridable;  ///< inputs with a default
  std::string profile_prefix;
  uint64_t started_ns = 0;  ///< since the epoch

  [[nodiscard]] ModelSource source() const;
  /// Index of an output. ApiError: there is none of that name.
  [[nodiscard]] size_t output(const std::string& name) const;
};

void add_session_functions(ApiTable& table);
void add_metadata_functions(ApiTable& table);
void add_run_functions(ApiTable& table);
void add_binding_functions(ApiTable& table);

}  // namespace gantry::ort
