// SPDX-License-Identifier: Apache-2.0
// The configuration: the errors and warnings of a document, the effective value of every member and
// its origin, and the JSON Schema. docs/configuration.md describes the members. Any thread.
#pragma once

#include <gantry/error.h>
#include <gantry/runtime.h>
#include <gantry/session.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gantry {

/// An error in a configuration document, or a warning.
struct ConfigFinding {
  /// INVALID_ARGUMENT or UNSUPPORTED: the document is refused; OK: a warning
  Code code = Code::kInvalidArgument;
  std::string document;  ///< its file; "configuration (runtime)" if it was given in code
  uint32_t line = 0;     ///< from 1; 0: not known, as of documents that were given in code
  uint32_t column = 0;   ///< from 1, in characters
  std::string pointer;   ///< JSON pointer of the member; empty: the document
  std::string message;   ///< "expected ..., found ...", with the suggestion
  /// JSON to put in place of the text at line and column; empty: no similar name is known
  std::string suggestion;
  std::string excerpt;  ///< of a JSON syntax error: the line and a caret below the column
};

/// `document:line:column: pointer: message`.
std::string to_string(const ConfigFinding& finding);

/// All errors and warnings of a document, by line. Options of providers are checked against the
/// manifests that this process finds and those that the document names. Opens no provider. `name`:
/// the document's file, for the findings.
std::vector<ConfigFinding> check_config(const std::string& text, const std::string& name);

/// A member of the effective configuration.
struct ConfigValue {
  std::string pointer;  ///< "/session/threads"
  std::string value;    ///< JSON
  /// "c.json:3:14", "GANTRY_CONFIG c.json:3:14", "configuration (session)", "default", "code"
  std::string origin;
};

/// The configuration of a session with those options, defaults included, with the options of the
/// providers of all manifests found. Errors as Session. Opens no provider.
std::vector<ConfigValue> effective_config(Runtime& runtime, const SessionOptions& options = {});

/// The JSON Schema of the configuration, as text.
const std::string& config_schema();
/// The same with the options of the named providers filled in; of all providers found if
/// `providers` is empty. NOT_FOUND: no manifest has the name.
std::string config_schema(Runtime& runtime, const std::vector<std::string>& providers);

}  // namespace gantry
