// SPDX-License-Identifier: Apache-2.0
// Where the provider "crashing" waits in the modes that end in "_waits", until it is open.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/temp_folder.h"

namespace gantry::test {

class Gate {
 public:
  void open() const { folder_.write(kFile, ""); }
  void close() const { std::filesystem::remove(folder_.path(kFile)); }
  /// The provider's options for `mode`.
  [[nodiscard]] nlohmann::json options(const std::string& mode) const {
    return {{"mode", mode}, {"gate", folder_.path(kFile)}};
  }
  /// The same in the configuration of a session.
  [[nodiscard]] nlohmann::json config(const std::string& mode) const {
    return {{"providers", {{"options", {{"crashing", options(mode)}}}}}};
  }

 private:
  static constexpr const char* kFile = "open";
  TempFolder folder_;
};

}  // namespace gantry::test
