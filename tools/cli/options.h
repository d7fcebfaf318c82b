// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, and what they build.
#pragma once

#include <gantry/session.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace gantry::cli {

/// --json, --config and --set.
struct CommonOptions {
  bool json = false;
  std::string config;             ///< a file, or JSON text that starts with a brace; empty: none
  std::vector<std::string> sets;  ///< "/pointer=value", over what `config` says
};
void add_common_options(CLI::App& command, CommonOptions& options);

/// MODEL, --device, --threads, and the common ones.
struct ModelOptions : CommonOptions {
  std::string model;
  std::string device;  ///< empty: as the configuration prefers, which is CPU if it says nothing
  int threads = 0;     ///< 0: as the configuration says
  double load_timeout_s = 0;  ///< 0: none
  std::string fallback;       ///< of placement; empty: as the configuration says
  std::string profile;        ///< file for a trace; empty: as the configuration says
};
void add_model_options(CLI::App& command, ModelOptions& options);

/// The text of a configuration file. NOT_FOUND: it cannot be opened.
std::string read_config(const std::string& file);
/// A runtime with the configuration of --config and --set. NOT_FOUND: no such file;
/// INVALID_ARGUMENT: as Runtime, or --set is no pointer and value.
std::unique_ptr<Runtime> make_runtime(const CommonOptions& options);
SessionOptions session_options(const ModelOptions& options);
/// The device for people: as given, "CPU" if nothing says otherwise, "configured" if a
/// configuration may.
std::string device_text(const ModelOptions& options);

}  // namespace gantry::cli
