// SPDX-License-Identifier: Apache-2.0
// A providers.d of a test's own: copies of fake providers with manifests, and a registry that sees
// nothing else.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "plugin/registry.h"
#include "support/temp_folder.h"

namespace gantry::test {

class ProviderFolder {
 public:
  /// The manifest of a fake, for changes.
  static nlohmann::json manifest(const std::string& name, const std::string& library) {
    return {{"manifest_version", 1}, {"name", name},        {"version", "0.1.0"},
            {"library", library},    {"devices", {"FAKE"}}, {"abi", {{"major", 1}, {"minor", 0}}}};
  }
  /// Puts a fake there under `name`; a copy, so that no other test has opened it.
  std::string add(const std::string& fake, const std::string& name, int priority = 0) const {
    const std::string library =
        folder_.copy(std::string(GANTRY_FAKES) + "/" + fake + ".so", name + ".so");
    nlohmann::json content = manifest(name, name + ".so");
    content["priority"] = priority;
    write(name + ".json", content.dump());
    return library;
  }
  std::string write(const std::string& file, const std::string& content) const {
    return folder_.write(file, content);
  }
  [[nodiscard]] std::string path(const std::string& file) const { return folder_.path(file); }

  [[nodiscard]] std::unique_ptr<ProviderRegistry> registry(ProviderSettings settings = {}) const {
    SearchEnvironment environment;
    environment.bundled = {folder_.path()};
    return std::make_unique<ProviderRegistry>(std::move(settings), environment);
  }

 private:
  TempFolder folder_;
};

}  // namespace gantry::test
