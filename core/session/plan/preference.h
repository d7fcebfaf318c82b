// SPDX-License-Identifier: Apache-2.0
// The devices that a session may use, in order of preference, with their providers, options and
// placement rules from the configuration. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "placement/placement.h"
#include "plugin/registry.h"
#include "session/config/config.h"
#include "session/plan/rule_parts.h"

namespace gantry {

/// The devices, most preferred first, and their providers.
struct Preference {
  std::vector<Candidate> candidates;
  /// by device: its providers, the owner of its memory first
  std::vector<std::vector<DeviceProvider>> owners;
  PlacementPolicy policy;
  std::vector<std::shared_ptr<RuleParts>> rule_parts;  ///< by rule of the policy
  std::string named;                    ///< devices that the user named, for messages
  std::vector<ConfigWarning> warnings;  ///< preferred devices that are absent
  Fallback fallback = Fallback::kError;
};

/// Resolves device, configured preference, rules and fallback. A preferred device that is absent is
/// skipped if the fallback policy is not "error". Errors as ProviderRegistry::find and
/// Device::parse.
Preference resolve_preference(ProviderRegistry& registry, const Config& config,
                              const std::string& device);

/// The device CPU only, whatever the configuration prefers.
Preference cpu_alone(ProviderRegistry& registry, const Config& config);

}  // namespace gantry
