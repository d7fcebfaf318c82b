// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

namespace gantry::cli {
namespace {

bool is_json_text(const std::string& config) {
  const size_t first = config.find_first_not_of(" \t\r\n");
  return first != std::string::npos && config[first] == '{';
}

// The document with the values of --set. Empty if `text` is not a JSON object; its reader reports
// that better.
std::string with_values(const std::string& text, const std::vector<std::string>& sets) {
  using Json = nlohmann::ordered_json;
  Json document = text.empty() ? Json::object() : Json::parse(text, nullptr, false);
  if (!document.is_object()) return {};
  for (const std::string& set : sets) {
    const size_t end = set.find('=');
    const std::string pointer = set.substr(0, end);
    const auto fail = [&](const std::string& expected) {
      throw CLI::ValidationError(
          "--set", std::string("expected ").append(expected) + ", found \"" + set + "\"");
    };
    if (end == std::string::npos || !pointer.starts_with('/'))
      fail("a pointer and a value, as /session/threads=2");
    const std::string value = set.substr(end + 1);
    Json parsed = Json::parse(value, nullptr, false);
    if (parsed.is_discarded()) parsed = value;
    try {
      document[Json::json_pointer(pointer)] = std::move(parsed);
    } catch (const Json::exception&) {
      fail("a pointer to a member of an object, as /session/threads");
    }
  }
  return document.dump();
}

}  // namespace

void add_common_options(CLI::App& command, CommonOptions& options) {
  command.add_flag("--json", options.json, "Print JSON");
  command
      .add_option("--config", options.config,
                  "Configuration: a JSON file, or JSON text that starts with a brace")
      ->type_name("FILE");
  command
      .add_option(
          "--set", options.sets,
          "One value of the configuration, as in /session/threads=2: JSON, or else text; may "
          "be repeated")
      ->type_name("/POINTER=VALUE")
      ->take_all()
      ->allow_extra_args(false);
}

CLI::Validator number_between(double least, double most) {
  const auto find_fault = [least, most](const std::string& text) {
    double number = 0;
    const bool is_in = CLI::detail::lexical_cast(text, number) && number >= least && number <= most;
    return is_in ? std::string()
                 : fmt::format("expected a number from {} to {}, found \"{}\"", least, most, text);
  };
  return {find_fault, ""};
}

CLI::Validator not_empty() {
  return {[](const std::string& text) {
            return std::string(text.empty() ? "expected a value, found an empty text" : "");
          },
          ""};
}

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_option("MODEL", options.model, "The ONNX model")->required()->type_name("FILE");
  command
      .add_option("--device", options.device,
                  "TYPE or TYPE:id, as in CPU or CUDA:1; default: as configured, else CPU")
      ->type_name("DEVICE")
      ->check(not_empty());
  command.add_option("--threads", options.threads, "Threads of a run; default: as configured")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command
      .add_option("--load-timeout", options.load_timeout_s,
                  "Give up loading after so many seconds; default: never")
      ->type_name("SECONDS")
      ->check(number_between(1e-6, 1e9));
  command
      .add_option(
          "--fallback", options.fallback,
          "Nodes that the device refuses: allow, warn (elsewhere, with a warning) or error; "
          "default: as configured")
      ->type_name("POLICY")
      ->check(CLI::IsMember({"allow", "warn", "error"}));
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
  const bool is_text = is_json_text(options.config);
  std::string text =
      options.config.empty() || is_text ? options.config : read_config(options.config);
  std::string file = is_text ? "" : options.config;
  if (!options.sets.empty()) {
    const std::string changed = with_values(text, options.sets);
    if (!changed.empty()) {
      text = changed;
      file += file.empty() ? "--set" : " with --set";
    }
  }
  if (text.empty() && file.empty()) return std::make_unique<Runtime>();
  return std::make_unique<Runtime>(RuntimeOptions{text, file});
}

SessionOptions session_options(const ModelOptions& options) {
  SessionOptions session;
  session.device = options.device;
  if (options.load_timeout_s > 0)
    session.timeout_ns = static_cast<uint64_t>(options.load_timeout_s * 1e9);
  nlohmann::json config = nlohmann::json::object();
  if (options.threads > 0) config["session"]["threads"] = options.threads;
  if (!options.profile.empty()) config["session"]["profile"] = options.profile;
  if (!options.fallback.empty()) config["placement"]["fallback"] = options.fallback;
  if (!config.empty()) session.config_json = config.dump();
  return session;
}

std::string device_text(const ModelOptions& options) {
  if (!options.device.empty()) return options.device;
  return options.config.empty() && options.sets.empty() && !std::getenv("GANTRY_CONFIG")
             ? "CPU"
             : "configured";
}

}  // namespace gantry::cli
