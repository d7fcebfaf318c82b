// SPDX-License-Identifier: Apache-2.0
// The providers that a runtime knows: candidates from manifests, opened when a device of theirs is
// first wanted. A candidate that fails keeps its report row and nothing else. Any thread.
#pragma once

#include <gantry/device.h>
#include <gantry/provider.h>
#include <gantry/runtime.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "plugin/candidate.h"
#include "plugin/discovery/discovery.h"
#include "plugin/discovery/site_policy.h"
#include "plugin/discovery/trusted_path.h"
#include "plugin/isolation/isolation.h"
#include "plugin/loader_log.h"
#include "plugin/provider.h"
#include "plugin/report_json.h"

namespace gantry {

/// The members of the configuration that speak of providers.
struct ProviderSettings {
  std::vector<std::string> search;             ///< files or folders
  std::vector<std::string> disable;            ///< names, with * and ? as wild cards
  std::vector<std::string> trust;              ///< TrustedWriters::of_process
  std::map<std::string, std::string> options;  ///< by name: a JSON object as text
  std::map<std::string, int64_t> priority;     ///< by name, over the manifest's
  std::string probe;  ///< "auto", "always" or "never", over the manifests'; empty: as they say
  std::map<std::string, bool> isolated;              ///< by name: in a process of its own or not
  std::map<std::string, IsolationSettings> workers;  ///< by name: limits of that process
  bool is_search_from_environment = false;  ///< a variable named the file that has `search`
};

/// A provider of a wanted device, and which of its devices that is.
struct DeviceProvider {
  std::shared_ptr<PluginProvider> provider;
  uint32_t device_index = 0;
  [[nodiscard]] const PluginDevice& device() const { return provider->devices()[device_index]; }
};

/// A provider as its manifest describes it.
struct KnownProvider {
  Manifest manifest;
  bool is_disabled = false;  ///< by the configuration
  bool is_usable = false;    ///< nothing speaks against opening it, as far as is known
  bool is_isolated = false;  ///< in a process of its own; of usable ones
};

class ProviderRegistry {
 public:
  /// Throws what is wrong with the site policy. A provider whose options are wrong is rejected
  /// before its library is opened.
  explicit ProviderRegistry(ProviderSettings settings,
                            SearchEnvironment environment = SearchEnvironment::of_process());
  ~ProviderRegistry();

  /// The providers of a device that is ready, the highest priority first (the first owns its memory
  /// and streams). Opens only providers whose manifest lists the type. NOT_FOUND: no provider lists
  /// the type (nearest one named), or no device has that id (those that are there named).
  /// UNAVAILABLE: absent, blocked, or its providers could not be opened; each with the reason.
  std::vector<DeviceProvider> find(const Device& device);
  /// Opens all and lists their devices, those of rejected providers not.
  std::vector<DeviceInfo> devices();
  /// With `open` all are opened first, and rows of those that are ready warn of parts
  /// (Manifest::parts) that models would not find: what a session does not look at.
  std::vector<ProviderReport> report(bool open);
  std::vector<EnvironmentVariable> environment() const { return environment_.variables; }
  /// Rows and variables as JSON.
  std::string report_json(bool open);
  /// Adds a provider from code in front of the others. Throws what its row would say and adds
  /// nothing then.
  void add(gantry_provider_entry entry, const std::string& manifest);
  /// Device types of all usable manifests, sorted.
  std::vector<std::string> device_types();

  /// The providers whose manifest could be read, shadowed ones left out, in search order.
  std::vector<KnownProvider> known();

 private:
  void apply_policy_to_environment();
  void warn_of_variables() GANTRY_REQUIRES(mutex_);
  void warn_of_crashes() GANTRY_REQUIRES(mutex_);
  void consider(const ManifestFile& file, Machine& machine) GANTRY_REQUIRES(mutex_);
  void inspect(ProviderCandidate& candidate, Machine& machine) GANTRY_REQUIRES(mutex_);
  void check_names(const ProviderCandidate& candidate) const;
  void check_rivals(ProviderCandidate& candidate) const GANTRY_REQUIRES(mutex_);
  void set_priority(ProviderCandidate& candidate) const;
  void open(ProviderCandidate& candidate) GANTRY_REQUIRES(mutex_);
  void open_or_throw(ProviderCandidate& candidate);
  void open_all() GANTRY_REQUIRES(mutex_);
  void open_all_and_check_parts() GANTRY_REQUIRES(mutex_);
  void check_again(ProviderCandidate& candidate);
  [[nodiscard]] bool wants_probe(const ProviderCandidate& candidate) const;
  void probe(ProviderCandidate& candidate);
  [[nodiscard]] bool wants_isolation(const ProviderCandidate& candidate) const;
  void load(ProviderCandidate& candidate, PluginProvider::Origin& origin);
  [[nodiscard]] ProviderCandidate& candidate_of(const PluginProvider& provider) const
      GANTRY_REQUIRES(mutex_);
  static void drop_other_memory(std::vector<DeviceProvider>& found);
  void warn_of_tie(const std::vector<DeviceProvider>& found) GANTRY_REQUIRES(mutex_);
  void require_strict() const GANTRY_REQUIRES(mutex_);
  [[nodiscard]] std::string options_of(const Manifest& manifest) const;
  [[nodiscard]] std::vector<ProviderCandidate*> candidates_of(const std::string& type) const
      GANTRY_REQUIRES(mutex_);
  [[nodiscard]] std::vector<std::string> known_types() const GANTRY_REQUIRES(mutex_);
  [[nodiscard]] std::string unread_manifests() const GANTRY_REQUIRES(mutex_);
  [[nodiscard]] LoaderReport make_report() const GANTRY_REQUIRES(mutex_);
  void write_report_file() GANTRY_REQUIRES(mutex_);
  [[noreturn]] void fail_unknown_type(const Device& device) const GANTRY_REQUIRES(mutex_);
  [[noreturn]] static void fail_not_ready(const Device& device,
                                          const std::vector<ProviderCandidate*>& candidates);

  ProviderSettings settings_;
  SearchEnvironment environment_;
  SitePolicy policy_;
  TrustedWriters writers_;
  std::unique_ptr<LoaderLog> log_;
  mutable Mutex mutex_;
  // In search order.
  std::vector<std::unique_ptr<ProviderCandidate>> candidates_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry
