// SPDX-License-Identifier: Apache-2.0
// A providers.d of a test's own: copies of fake providers with manifests, and a registry that sees
// nothing else.
#pragma once

#include <gmock/gmock.h>
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
    std::string library = copy(fake + ".so", name + ".so");
    nlohmann::json content = manifest(name, name + ".so");
    content["priority"] = priority;
    write(name + ".json", content.dump());
    return library;
  }
  /// The same with more members in its manifest.
  std::string add(const std::string& fake, const std::string& name,
                  const nlohmann::json& members) const {
    std::string library = add(fake, name);
    nlohmann::json content = manifest(name, name + ".so");
    content.update(members);
    write(name + ".json", content.dump());
    return library;
  }
  /// Copies a built file.
  std::string copy(const std::string& built, const std::string& file) const {
    return folder_.copy(std::string(GANTRY_FAKES) + "/" + built, file);
  }
  std::string write(const std::string& file, const std::string& content) const {
    return folder_.write(file, content);
  }
  [[nodiscard]] std::string path(const std::string& file) const { return folder_.path(file); }

  [[nodiscard]] std::unique_ptr<ProviderRegistry> registry(ProviderSettings settings = {}) const {
    return std::make_unique<ProviderRegistry>(std::move(settings), environment());
  }
  [[nodiscard]] std::unique_ptr<ProviderRegistry> registry(const SearchEnvironment& environment,
                                                           ProviderSettings settings = {}) const {
    return std::make_unique<ProviderRegistry>(std::move(settings), environment);
  }
  /// One that looks into this folder and nowhere else, for changes.
  [[nodiscard]] SearchEnvironment environment() const {
    SearchEnvironment environment;
    environment.bundled = {folder_.path()};
    return environment;
  }

 private:
  TempFolder folder_;
};

}  // namespace gantry::test
