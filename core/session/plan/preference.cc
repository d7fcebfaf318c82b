// SPDX-License-Identifier: Apache-2.0
#include "session/plan/preference.h"

#include <algorithm>
#include <utility>

#include "plugin/discovery/strict_json.h"
#include "session/config/precision.h"

namespace gantry {
namespace {

// The options of a provider, with the session's precision if the provider accepts it.
std::string provider_options(const Config& config, const Manifest& manifest) {
  const auto found = find_by_name(config.providers.options, manifest);
  const std::string own = found == config.providers.options.end() ? "{}" : found->second;
  return with_precision(manifest, own, config.session.precision);
}

// UNSUPPORTED: no provider of the session's devices has the configured precision.
void require_precision(const Config& config, const Preference& preference) {
  const std::string& wanted = config.session.precision;
  if (wanted == kFullPrecision) return;
  std::vector<const Manifest*> manifests;
  for (const Candidate& candidate : preference.candidates)
    manifests.push_back(&candidate.provider->manifest());
  const bool has_any = std::any_of(manifests.begin(), manifests.end(), [&](const Manifest* each) {
    return takes_precision(*each, wanted);
  });
  if (has_any) return;
  throw Error(Code::kUnsupported,
              config.where("/session/precision") + ": " +
                  precision_refusal(manifests, "of " + preference.named, wanted));
}

// True for a provider whose operators follow from its options, in a session that gives it none:
// another session of the process may have opened it.
bool has_no_operators(const Config& config, const Manifest& manifest) {
  return manifest.has_operators_by_options &&
         find_by_name(config.providers.options, manifest) == config.providers.options.end();
}

void add_device(ProviderRegistry& registry, const Config& config, const Device& device,
                Preference& preference) {
  const bool is_known =
      std::any_of(preference.candidates.begin(), preference.candidates.end(),
                  [&](const Candidate& candidate) { return candidate.device == device; });
  if (is_known) return;
  std::vector<DeviceProvider> providers = registry.find(device);
  std::erase_if(providers, [&](const DeviceProvider& found) {
    return has_no_operators(config, found.provider->manifest());
  });
  if (providers.empty()) {
    throw Error(Code::kUnavailable, "device \"" + device.to_string() +
                                        "\": its providers run what follows from their options, "
                                        "and are given none");
  }
  for (const DeviceProvider& provider : providers) {
    preference.candidates.push_back({provider.provider, provider.device_index, device,
                                     provider_options(config, provider.provider->manifest())});
  }
  preference.owners.push_back(std::move(providers));
}

void add_preferred(ProviderRegistry& registry, const Config& config, Preference& preference) {
  std::vector<std::string> wanted = config.placement.prefer;
  if (wanted.empty()) wanted.emplace_back("CPU");
  for (size_t i = 0; i < wanted.size(); ++i) {
    try {
      add_device(registry, config, Device::parse(wanted[i]), preference);
      preference.named += (preference.named.empty() ? "" : ", ") + wanted[i];
    } catch (const Error& error) {
      const std::string pointer = json_pointer("/placement/prefer", std::to_string(i));
      if (!config.origins.contains(pointer)) throw;
      const Error told = error.in(config.where(pointer));
      const bool is_absent = error.code() == Code::kNotFound || error.code() == Code::kUnavailable;
      if (config.placement.fallback == Fallback::kError || !is_absent) throw told;
      ConfigWarning passed_over{told.message(), config.placement.fallback == Fallback::kWarn};
      preference.warnings.push_back(std::move(passed_over));
    }
  }
  if (preference.named.empty()) preference.named = "CPU";  // all preferred devices are absent
}

}  // namespace

Preference resolve_preference(ProviderRegistry& registry, const Config& config,
                              const std::string& device) {
  Preference preference;
  preference.fallback = config.placement.fallback;
  preference.policy.cost_model = config.placement.cost_model;
  if (!device.empty()) {
    preference.named = device;
    add_device(registry, config, Device::parse(device), preference);
  } else {
    add_preferred(registry, config, preference);
  }
  for (size_t i = 0; i < config.placement.rules.size(); ++i) {
    const PlacementRule& rule = config.placement.rules[i];
    const Device target = Device::parse(rule.device);
    try {
      add_device(registry, config, target, preference);
    } catch (const Error& error) {
      throw error.in(config.where(json_pointer("/placement/rules", std::to_string(i)) + "/device"));
    }
    auto parts = std::make_shared<RuleParts>();
    preference.policy.rules.push_back(
        {[rule, parts](const Node& node) {
           return rule.matches(node.op_type, node.domain, node.name) || parts->hold(node.name);
         },
         target});
    preference.rule_parts.push_back(std::move(parts));
  }
  if (preference.fallback != Fallback::kError) add_device(registry, config, Device{}, preference);
  require_precision(config, preference);
  return preference;
}

Preference cpu_alone(ProviderRegistry& registry, const Config& config) {
  Preference preference;
  add_device(registry, config, Device{}, preference);
  return preference;
}

}  // namespace gantry
