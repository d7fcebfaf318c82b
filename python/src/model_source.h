// SPDX-License-Identifier: Apache-2.0
// Arguments of Session and check: a model in one of its forms, the options, and the runtime that
// they select.
#pragma once

#include <gantry/session.h>

#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <vector>

#include "backend_provider.h"
#include "process_runtime.h"

namespace gantry::python {

/// A model argument, and the object that owns its bytes.
struct GivenModel {
  nanobind::object bytes;  // empty for a path
  ModelSource source;
};

/// `model`: a path (str, os.PathLike), a serialized model (anything with the buffer protocol), or
/// an onnx.ModelProto, which is serialized. Throws INVALID_ARGUMENT for another type. Requires the
/// GIL.
GivenModel given_model(nanobind::handle model);

/// A configuration argument.
struct GivenConfig {
  std::string json;  ///< empty: None
  std::string file;  ///< as in RuntimeOptions::config_file
};

/// `config`: None, a dict, JSON text (a str that starts with a brace) or the path of a JSON file
/// (str, os.PathLike). Throws INVALID_ARGUMENT for another type or a dict that JSON cannot express,
/// NOT_FOUND if there is no such file. Requires the GIL.
GivenConfig given_config(nanobind::handle config);

/// The options of a session or a check.
struct SessionSetup {
  SessionOptions options;
  /// Set if the configuration has members for the runtime: the session then has its own runtime
  /// with this configuration, and `options` has none. Empty: the session uses the process's
  /// runtime.
  std::optional<GivenConfig> runtime;
};

/// Throws INVALID_ARGUMENT if `device` is an empty string; otherwise as given_config(). Requires
/// the GIL.
SessionSetup session_setup(const std::optional<std::string>& device, nanobind::handle config);

/// A list of names. Throws INVALID_ARGUMENT for another type. Requires the GIL.
std::vector<std::string> names_given(nanobind::handle outputs);
/// `given` itself if it is a dict, or a dict of another mapping's items; tokenizers return a
/// UserDict. `role`: "input" or "initializer". Throws INVALID_ARGUMENT for another type. Requires
/// the GIL.
nanobind::dict dict_given(const std::string& role, nanobind::handle given);
/// What a session changes in its model: `outputs`, None or a list of names; `initializers`, None or
/// a mapping from names to arrays. Throws INVALID_ARGUMENT for other types. Requires the GIL.
void set_changes(SessionOptions& options, nanobind::handle outputs, nanobind::handle initializers);

/// The runtime of a setup: the process's, or one owned by this object. The constructor must be
/// called without the GIL. Errors as Runtime.
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
