// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

namespace gantry::cli {
void add_common_options(CLI::App& command, CommonOptions& options) {
  command.add_flag("--json", options.json, "Print JSON");
  command.add_option("--config", options.config, "Configuration: a JSON document")
      ->type_name("FILE");
}

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_option("MODEL", options.model, "The ONNX model")->required()->type_name("FILE");
  command
      .add_option("--device", options.device,
                  "TYPE or TYPE:id, as in CPU or CUDA:1; default: as configured, else CPU")
      ->type_name("DEVICE");
  command.add_option("--threads", options.threads, "Threads of a run; default: as configured")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  add_common_options(command, options);
}

std::string read_config(const std::string& file) {
  const auto fail = [&](const std::string& reason) {
    throw Error(Code::kNotFound, "the configuration file cannot be opened: " + reason).in(file);
  };
  if (std::error_code ignored; std::filesystem::is_directory(file, ignored)) fail("it is a folder");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(std::generic_category().message(errno));
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::unique_ptr<Runtime> make_runtime(const CommonOptions& options) {
  if (options.config.empty()) return std::make_unique<Runtime>();
  return std::make_unique<Runtime>(RuntimeOptions{read_config(options.config), options.config});
}

SessionOptions session_options(const ModelOptions& options) {
  SessionOptions session;
  session.device = options.device;
  nlohmann::json config = nlohmann::json::object();
  if (options.threads > 0) config["session"]["threads"] = options.threads;
  if (!options.profile.empty()) config["session"]["profile"] = options.profile;
  if (!config.empty()) session.config_json = config.dump();
  return session;
}

std::string device_text(const ModelOptions& options) {
  if (!options.device.empty()) return options.device;
  return options.config.empty() && !std::getenv("GANTRY_CONFIG") ? "CPU" : "configured";
}

}  // namespace gantry::cli
