// SPDX-License-Identifier: Apache-2.0
// The implementation of Runtime: the effective configuration and the registry of providers.
// Sessions read both. Any thread.
#pragma once

#include <gantry/runtime.h>
#include <gantry/session.h>

#include <string>
#include <vector>

#include "plugin/registry.h"
#include "session/config/config.h"

namespace gantry {

class Runtime::Impl {
 public:
  explicit Impl(const RuntimeOptions& options);

  /// The configuration of a session: this runtime's with the session's document over it. Errors as
  /// Config::parse.
  [[nodiscard]] Config session_config(const SessionOptions& options);

  std::vector<Config::Document> documents;
  Config config;
  ProviderRegistry registry;

 private:
  void check_against_manifests(const Config& checked, const std::string& document);
};

}  // namespace gantry
