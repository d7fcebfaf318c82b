// SPDX-License-Identifier: Apache-2.0
// What Session and check take from Python: a model in one of its forms, the options, and the
// runtime that these choose.
#pragma once

#include <gantry/session.h>

#include <nanobind/nanobind.h>
#include <optional>
#include <string>

#include "backend_provider.h"
#include "process_runtime.h"

namespace gantry::python {

/// A model as the user gave it, and what keeps its bytes.
struct GivenModel {
  nanobind::object bytes;  // empty for a path
  ModelSource source;
};

/// A path (str, os.PathLike), the bytes of a serialized model (anything with the buffer protocol),
/// or an onnx.ModelProto, which is serialized. INVALID_ARGUMENT: something else. Needs the
/// interpreter's lock.
GivenModel given_model(nanobind::handle model);

/// A configuration document as the user gave it.
struct GivenConfig {
  std::string json;  ///< empty: None
  std::string file;  ///< as in RuntimeOptions::config_file
};

/// None, a dict, JSON text (a str that starts with a brace) or the path of a JSON file (str,
/// os.PathLike). INVALID_ARGUMENT: something else, or a dict that JSON cannot express. NOT_FOUND:
/// no such file. Needs the interpreter's lock.
GivenConfig given_config(nanobind::handle config);

/// What a session, or an answer about one, is made with.
struct SessionSetup {
  SessionOptions options;
  /// A configuration with members for the runtime: that of a runtime of the session's own, and then
  /// `options` has none. Empty: the process's runtime serves.
  std::optional<GivenConfig> runtime;
};

/// INVALID_ARGUMENT: `device` is an empty text. Otherwise errors as given_config. Needs the
/// interpreter's lock.
SessionSetup session_setup(const std::optional<std::string>& device, nanobind::handle config);

/// The runtime of a setup: the process's, or one that lives as long as this. Called without the
/// interpreter's lock. Errors as Runtime.
class ChosenRuntime {
 public:
  explicit ChosenRuntime(const SessionSetup& setup) {
    if (!setup.runtime) return;
    own_.emplace(RuntimeOptions{setup.runtime->json, setup.runtime->file});
    add_backend_providers(*own_);
  }
  Runtime& get() { return own_ ? *own_ : runtime(); }

 private:
  std::optional<Runtime> own_;
};

}  // namespace gantry::python
