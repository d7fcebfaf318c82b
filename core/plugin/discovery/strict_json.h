// SPDX-License-Identifier: Apache-2.0
// Parses untrusted JSON strictly, with the position of every member, and checks it against a JSON
// Schema. Pure functions.
#pragma once

#include <gantry/error.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

struct JsonLimits {
  uint64_t max_bytes = 1024 * 1024;
  int max_depth = 16;
  uint64_t max_name_bytes = 1024;  ///< of a member's name
};

/// A position in a text: line and column, in characters, both from 1; 0: not known.
struct JsonPosition {
  uint32_t line = 0;
  uint32_t column = 0;
};

/// The positions of a member's name and value; an item of an array has that of its value twice.
struct JsonMemberPosition {
  JsonPosition name;
  JsonPosition value;
};

/// The positions of a document's members, by JSON pointer; "" is the document. Members are stored
/// by name and the number of their parent, so that memory grows with the text and not with its
/// depth.
class JsonPositions {
 public:
  using Number = uint32_t;
  struct Member {
    JsonMemberPosition position;
    bool is_object = false;
  };

  /// Adds a member of `parent`, or the document if there is none yet. `is_new`: false if the member
  /// is there already; its position is not changed then.
  Number add(Number parent, const std::string& name, const JsonMemberPosition& position,
             bool& is_new);
  Member& operator[](Number number) { return members_[number]; }
  /// Null: the document has no such member.
  [[nodiscard]] const Member* find(std::string_view pointer) const;
  /// The member, or the innermost enclosing one that exists; `is_it`: whether it is the member.
  /// Null: there is no document.
  [[nodiscard]] const Member* innermost(std::string_view pointer, bool& is_it) const;
  [[nodiscard]] size_t size() const { return members_.size(); }

 private:
  std::vector<Member> members_;
  std::map<std::pair<Number, std::string>, Number> numbers_;  // by parent and name
};

struct JsonDocument {
  nlohmann::json root;
  JsonPositions positions;
};

/// An error in a document.
struct JsonProblem {
  std::string pointer;
  std::string what;         ///< "expected ..., found ..."
  bool is_in_name = false;  ///< the member's name is wrong, not its value
  /// the member's name, or the value as JSON, that was probably meant; empty: unknown
  std::string suggestion = {};
};

/// The document is not JSON, or exceeds the limits.
class JsonError : public Error {
 public:
  JsonError(const std::string& subject, JsonPosition position, std::string what);
  [[nodiscard]] JsonPosition position() const noexcept { return position_; }
  /// Without the subject and the position.
  [[nodiscard]] const std::string& what_is_wrong() const noexcept { return what_; }

 private:
  JsonPosition position_;
  std::string what_;
};

/// Parses one JSON document; `subject`: its name in messages. JsonError (INVALID_ARGUMENT): too
/// large or deep, a member's name too long, a duplicate member, not UTF-8, text after the document,
/// any other syntax error.
JsonDocument parse_json(std::string_view text, const std::string& subject,
                        const JsonLimits& limits = {});

/// `pointer` with one more member, escaped as RFC 6901 says.
std::string json_pointer(const std::string& pointer, const std::string& member);

/// The position of the member, or of the innermost enclosing member that exists.
JsonMemberPosition position_of(const JsonPositions& positions, std::string_view pointer);

/// `subject:line:column`; `subject` if the position is not known.
std::string at_position(const std::string& subject, JsonPosition position);

/// `subject:line:column: pointer: what`.
std::string describe_problem(const std::string& subject, const JsonPositions& positions,
                             const JsonProblem& problem);

/// The line of the text and a caret below the column, each after a line end; for messages that may
/// have several lines.
std::string excerpt(std::string_view text, JsonPosition position);

/// Describes a value for messages: `the string "x"`, `the number 3`, `an object`.
std::string describe_json(const nlohmann::json& value);

/// A JSON Schema (draft 7, without references to other files). Immutable. A plain schema (see
/// plain_schema.h) is compiled only if the fast check cannot accept a document.
class JsonSchema {
 public:
  /// INVALID_ARGUMENT: not a schema; `subject` and `pointer`: its position, for messages.
  JsonSchema(nlohmann::json schema, const std::string& subject, const std::string& pointer = {});
  ~JsonSchema();
  JsonSchema(const JsonSchema&) = delete;
  JsonSchema& operator=(const JsonSchema&) = delete;

  /// All violations of the schema, one for each member: expected, found, and the nearest known name
  /// or value. Their pointers start with `pointer`.
  [[nodiscard]] std::vector<JsonProblem> problems(const nlohmann::json& document,
                                                  const std::string& pointer = {}) const;

 private:
  struct Compiled;
  [[nodiscard]] std::vector<JsonProblem> problems_of(const Compiled& compiled,
                                                     const nlohmann::json& document,
                                                     const std::string& pointer) const;
  nlohmann::json schema_;
  std::unique_ptr<Compiled> compiled_;  // null: the schema is plain
};

}  // namespace gantry
