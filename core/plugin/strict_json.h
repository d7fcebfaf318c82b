// SPDX-License-Identifier: Apache-2.0
// JSON from outside: parsed strictly and checked against a JSON Schema, with messages that say
// where. Pure functions.
#pragma once

#include <gantry/error.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace gantry {

struct JsonLimits {
  uint64_t max_bytes = 1024 * 1024;
  int max_depth = 16;
};

/// Parses one JSON document; `subject` names it in messages. INVALID_ARGUMENT: too large or deep, a
/// member given twice, not UTF-8, anything after the document, any other breach of JSON; with line
/// and column, or the JSON pointer.
nlohmann::json parse_json(std::string_view text, const std::string& subject,
                          const JsonLimits& limits = {});

/// `pointer` with one more member, escaped as RFC 6901 says.
std::string json_pointer(const std::string& pointer, const std::string& member);

/// What was found, for messages: `the string "x"`, `the number 3`, `an object`.
std::string describe_json(const nlohmann::json& value);

/// A compiled JSON Schema (draft 7, without references to other files). Immutable.
class JsonSchema {
 public:
  /// INVALID_ARGUMENT: not a schema; `subject` and `pointer` say where it stands.
  JsonSchema(nlohmann::json schema, const std::string& subject, const std::string& pointer = {});
  ~JsonSchema();
  JsonSchema(const JsonSchema&) = delete;
  JsonSchema& operator=(const JsonSchema&) = delete;

  /// INVALID_ARGUMENT: the document breaks the schema; subject, JSON pointer (below `pointer`),
  /// expected, found, for an unknown member the nearest known one.
  void check(const nlohmann::json& document, const std::string& subject,
             const std::string& pointer = {}) const;

 private:
  struct Compiled;
  nlohmann::json schema_;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace gantry
