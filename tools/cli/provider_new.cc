// SPDX-License-Identifier: Apache-2.0
// gantry provider new: creates a folder with a provider that builds, loads and runs one operator:
// the SDK's skeleton, renamed.
#include <gantry/error.h>

#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "command_provider.h"
#include "output.h"
#include "sdk_folder.h"
#include "skeleton.h"

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;

struct NewOptions {
  std::string name;
  std::string folder;  // empty: ./NAME
  bool json = false;
};

// Validates a provider name, which becomes part of file names and of C++ identifiers.
std::string check_name(const std::string& name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  bool is_good = !name.empty() && name.size() <= 64 && name[0] >= 'a' && name[0] <= 'z';
  for (const char c : name) is_good = is_good && is_allowed(c);
  if (is_good) return {};
  return "expected 1 to 64 of a-z, 0-9, _ and -, first a letter, found \"" + name + "\"";
}

// "my-npu" -> "MY_NPU", a device type.
std::string type_of(const std::string& name) {
  std::string type;
  for (const char c : name)
    type += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return type;
}

// "my-npu" -> "MyNpu", the prefix of class names.
std::string class_of(const std::string& name) {
  std::string words;
  bool is_first = true;
  for (const char c : name) {
    const bool is_gap = c == '-' || c == '_';
    if (!is_gap)
      words += is_first ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    is_first = is_gap;
  }
  return words;
}

std::string renamed(std::string_view text, const std::string& name) {
  const std::vector<std::pair<std::string_view, std::string>> words = {
      {"skeleton", name}, {"SKELETON", type_of(name)}, {"Skeleton", class_of(name)}};
  std::string result;
  while (!text.empty()) {
    bool is_word = false;
    for (const auto& [word, replacement] : words) {
      if (is_word || !text.starts_with(word)) continue;
      result += replacement;
      text.remove_prefix(word.size());
      is_word = true;
    }
    if (is_word) continue;
    result += text.front();
    text.remove_prefix(1);
  }
  return result;
}

void write_file(const fs::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text << std::flush;
  if (!stream) {
    throw Error(Code::kUnavailable, file.string() + ": the file cannot be written: " +
                                        std::generic_category().message(errno));
  }
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(Code::kUnavailable, folder.string() + ": " + error.message());
  if (!fs::is_empty(folder)) {
    throw Error(Code::kInvalidArgument,
                folder.string() +
                    ": expected a new or empty folder, found files in it; name another with --dir");
  }
}

void print_next(const fs::path& folder, const std::string& name) {
  const std::string built = fs::absolute(folder / "build" / name).string() + ".json";
  const bool has_sdk = !find_sdk_package().empty();
  print_line(has_sdk ? "\nNext:\n"
                     : "\nNext, with gantry's SDK installed in SDK (cmake --install, component "
                       "sdk):\n");
  print_line(fmt::format(
      "  cmake -S {0} -B {0}/build -DCMAKE_BUILD_TYPE=Release {1}", folder.string(),
      has_sdk ? "-Dgantry_sdk_DIR=\"$(gantry sdk --cmake-dir)\"" : "-DCMAKE_PREFIX_PATH=SDK"));
  print_line(fmt::format("  cmake --build {}/build", folder.string()));
  print_line("  export GANTRY_ADD_PROVIDER_FILES=" + built);
  print_line("  gantry devices");
}

Status make(const NewOptions& options) {
  const std::string& name = options.name;
  const fs::path folder = options.folder.empty() ? fs::path(name) : fs::path(options.folder);
  make_folder(folder);
  const std::vector<std::pair<std::string, const char*>> files = {
      {"CMakeLists.txt", kSkeletonBuild},
      {name + ".cc", kSkeletonSource},
      {name + ".json", kSkeletonManifest}};
  Json written = Json::array();
  for (const auto& [file, text] : files) {
    write_file(folder / file, renamed(text, name));
    written.push_back((folder / file).string());
    if (!options.json) print_line((folder / file).string());
  }
  if (options.json) {
    print_json({{"name", name},
                {"device", type_of(name)},
                {"folder", folder.string()},
                {"files", written}});
  } else {
    print_next(folder, name);
  }
  return kGood;
}

}  // namespace

void add_provider_new(CLI::App& provider, Action& chosen) {
  auto options = std::make_shared<NewOptions>();
  CLI::App* command =
      provider.add_subcommand("new", "Write a provider that builds, loads and runs one operator");
  command->add_option("NAME", options->name, "Of the provider, as in my-npu")
      ->required()
      ->type_name("")
      ->check(check_name);
  command->add_option("--dir", options->folder, "The folder to write; default: NAME")
      ->type_name("DIR");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &chosen] { chosen = [options] { return make(*options); }; });
}

}  // namespace gantry::cli
