// SPDX-License-Identifier: Apache-2.0
// The providers that are open in this process. Runtimes share them, so that a library never has two
// provider objects. Any thread.
#pragma once

#include <memory>
#include <string>

#include "plugin/provider.h"

namespace gantry {

/// The open provider of a library (of an entry, if it has no library), or a new one. A provider is
/// destroyed when its last user releases it; a new one waits for that. UNAVAILABLE: the provider is
/// open with other options. Otherwise errors as PluginProvider.
std::shared_ptr<PluginProvider> open_provider(const Manifest& manifest,
                                              const PluginProvider::Origin& origin,
                                              const PluginProvider::StageObserver& at_stage);

/// Whether the provider of that library is open in this process.
bool is_provider_open(const std::string& library);

}  // namespace gantry
