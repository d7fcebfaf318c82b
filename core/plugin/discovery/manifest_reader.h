// SPDX-License-Identifier: Apache-2.0
// Reads the members of one manifest. Errors are INVALID_ARGUMENT with file, line, column and JSON
// pointer, what was expected and what was found. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugin/discovery/strict_json.h"

namespace gantry {

class ManifestReader {
 public:
  /// Borrows both; `file`: the manifest's name in messages.
  ManifestReader(const JsonDocument& document, const std::string& file)
      : root_(document.root), positions_(document.positions), file_(file) {}

  [[noreturn]] void fail(const std::string& pointer, const std::string& expected,
                         const std::string& found) const;
  /// `file:line:column: pointer`.
  [[nodiscard]] std::string at(const std::string& pointer) const;
  [[nodiscard]] std::string file_at(const std::string& pointer) const;

  /// The member at a pointer; null if it is absent.
  [[nodiscard]] const nlohmann::json* find(const std::string& pointer) const;
  const nlohmann::json& need(const std::string& pointer, const std::string& expected) const;
  /// A string; one that is required is not empty.
  [[nodiscard]] std::string text(const std::string& pointer, const std::string& expected,
                                 bool is_required) const;
  [[nodiscard]] uint32_t number(const std::string& pointer) const;
  /// The length of an array; 0 if it is absent.
  [[nodiscard]] size_t items(const std::string& pointer, const char* expected) const;
  /// An array of strings that are not empty; none if it is absent.
  [[nodiscard]] std::vector<std::string> texts(const std::string& pointer) const;
  /// A SHA-256 in lower case; empty if it is absent.
  [[nodiscard]] std::string digest(const std::string& pointer) const;
  /// Names of libraries: each a string, or an object with the name and a hint for a missing
  /// library, which goes to `hints`.
  std::vector<std::string> libraries(const std::string& pointer,
                                     std::map<std::string, std::string>& hints) const;
  /// One of the choices; the first if it is absent.
  std::string choice(const std::string& pointer, const std::vector<std::string>& choices) const;
  /// Adds a warning for each member of an object that is not among `known`.
  void warn_of_unknown(const std::string& pointer, const std::vector<std::string>& known,
                       std::vector<std::string>& warnings) const;

 private:
  const nlohmann::json& root_;
  const JsonPositions& positions_;
  const std::string& file_;
};

}  // namespace gantry
