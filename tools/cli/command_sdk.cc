// SPDX-License-Identifier: Apache-2.0
// gantry sdk: prints the path of the SDK for building providers.
#include <gantry/error.h>

#include <initializer_list>
#include <system_error>

#include "command.h"
#include "output.h"
#include "sdk_folder.h"

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;

struct SdkOptions {
  bool cmake_dir = false;
  bool json = false;
};

fs::path prefix_of_command() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path().parent_path();
}

Status show(const SdkOptions& options) {
  const fs::path package = find_sdk_package();
  if (package.empty()) {
    throw Error(Code::kNotFound,
                "sdk: expected lib/cmake/gantry_sdk in " + prefix_of_command().string() +
                    ", found none; of a build, cmake --install BUILD --component sdk --prefix DIR "
                    "puts the SDK into DIR");
  }
  const fs::path headers = prefix_of_command() / "include";
  if (options.json) {
    print_json({{"cmake_dir", package.string()}, {"include_dir", headers.string()}});
  } else if (options.cmake_dir) {
    print_line(package.string());
  } else {
    print_line("CMake package  " + package.string());
    print_line("headers        " + headers.string());
    print_line("\n  cmake -S MY-PROVIDER -B BUILD -Dgantry_sdk_DIR=\"$(gantry sdk --cmake-dir)\"");
  }
  return kGood;
}

}  // namespace

fs::path find_sdk_package() {
  const fs::path prefix = prefix_of_command();
  for (const char* libraries : {"lib", GANTRY_LIBRARY_FOLDER}) {
    fs::path package = prefix / libraries / "cmake" / "gantry_sdk";
    std::error_code error;
    if (fs::exists(package / "gantry_sdkConfig.cmake", error)) return package;
  }
  return {};
}

void add_sdk(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<SdkOptions>();
  CLI::App* command = app.add_subcommand("sdk", "Where the SDK lies that providers are built with");
  command->add_flag("--cmake-dir", options->cmake_dir,
                    "Print the folder of the CMake package alone, for -Dgantry_sdk_DIR=");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &chosen] { chosen = [options] { return show(*options); }; });
}

}  // namespace gantry::cli
