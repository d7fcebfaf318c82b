// SPDX-License-Identifier: Apache-2.0
// Options that an application gives to the provider. Plain data.
#pragma once

#include <gantry/session.h>

#include <string>

#include "plugin_ep/host_api.h"

namespace gantry::ort {

/// The name by which applications ask for the provider.
inline constexpr char kEpName[] = "GantryExecutionProvider";

struct EpOptions {
  std::string device;  ///< a device string; empty: as SessionOptions::device
  std::string config;  ///< text of a configuration (docs/configuration.md); empty: none
};

/// Reads them from ONNX Runtime's options of a session. ApiError: an option of another name.
EpOptions read_options(const HostApi& api, const host::Settings* settings);

SessionOptions session_options(const EpOptions& options);

/// Throws what a session with these options would throw, whatever its model. ONNX Runtime tells an
/// application of errors when the provider is made; of those in its questions it only writes a
/// line.
void require_valid(Runtime& runtime, const EpOptions& options);

}  // namespace gantry::ort
