// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, and what they build.
#pragma once

#include <gantry/session.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace gantry::cli {

/// --json and --config.
struct CommonOptions {
  bool json = false;
  std::string config;  ///< file; empty: none
};
void add_common_options(CLI::App& command, CommonOptions& options);

/// MODEL, --device, --threads, and the common ones.
struct ModelOptions : CommonOptions {
  std::string model;
  std::string device;   ///< empty: as the configuration prefers, which is CPU if it says nothing
  int threads = 0;      ///< 0: as the configuration says
  std::string profile;  ///< file for a trace; empty: as the configuration says
};
void add_model_options(CLI::App& command, ModelOptions& options);

/// The text of a configuration file. NOT_FOUND: it cannot be opened.
std::string read_config(const std::string& file);
/// A runtime with the configuration of the file. NOT_FOUND: no such file; INVALID_ARGUMENT: as
/// Runtime.
std::unique_ptr<Runtime> make_runtime(const CommonOptions& options);
SessionOptions session_options(const ModelOptions& options);
/// The device for people: as given, "CPU" if nothing says otherwise, "configured" if a
/// configuration may.
std::string device_text(const ModelOptions& options);

}  // namespace gantry::cli
