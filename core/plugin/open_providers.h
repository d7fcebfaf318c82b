// SPDX-License-Identifier: Apache-2.0
// The providers that are open in this process, so that runtimes share them and no library ever has
// two provider objects. Any thread.
#pragma once

#include <memory>
#include <string>

#include "plugin/provider.h"

namespace gantry {

/// The open provider of that library (or entry, without one), or a new one; it is destroyed with
/// its last user, and a new one waits for that. UNAVAILABLE: it is open with other options.
/// Otherwise errors as PluginProvider.
std::shared_ptr<PluginProvider> open_provider(const Manifest& manifest,
                                              const PluginProvider::Origin& origin,
                                              std::string& stage);

/// Whether the provider of that library is open in this process.
bool is_provider_open(const std::string& library);

}  // namespace gantry
