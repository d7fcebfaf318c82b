// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, and the objects created from them.
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
  std::vector<std::string> sets;  ///< "/pointer=value"; overrides `config`
};
void add_common_options(CLI::App& command, CommonOptions& options);

/// As CLI::Range, which lets "nan" pass.
CLI::Validator number_between(double least, double most);
/// What `--option "$UNSET"` gives is a mistake.
CLI::Validator not_empty();

/// MODEL, --device, --threads, and the common ones.
struct ModelOptions : CommonOptions {
  std::string model;
  std::string device;         ///< empty: the configured one, CPU by default
  int threads = 0;            ///< 0: the configured number
  double load_timeout_s = 0;  ///< 0: none
  std::string fallback;       ///< of placement; empty: the configured one
  std::string profile;        ///< trace file; empty: the configured one
};
void add_model_options(CLI::App& command, ModelOptions& options);

/// The text of a configuration file. Throws NOT_FOUND if it cannot be opened.
std::string read_config(const std::string& file);
/// A runtime with the configuration of --config and --set. Throws NOT_FOUND if there is no such
/// file, INVALID_ARGUMENT as Runtime or if a --set is not "/pointer=value".
std::unique_ptr<Runtime> make_runtime(const CommonOptions& options);
SessionOptions session_options(const ModelOptions& options);
/// The device for display: as given, otherwise "configured" if there is a configuration, otherwise
/// "CPU".
std::string device_text(const ModelOptions& options);

}  // namespace gantry::cli
