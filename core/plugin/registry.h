// SPDX-License-Identifier: Apache-2.0
// The providers of a runtime: candidates from manifests, opened when one of their devices is first
// needed. A rejected candidate has a report row only. Any thread.
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

/// The members of the configuration about providers.
struct ProviderSettings {
  std::vector<std::string> search;             ///< files or folders
  std::vector<std::string> disable;            ///< names, with * and ? as wildcards
  std::vector<std::string> trust;              ///< TrustedWriters::of_process
  std::map<std::string, std::string> options;  ///< by name: a JSON object as text
  std::map<std::string, int64_t> priority;     ///< by name, over the manifest's
  std::string probe;  ///< "auto", "always" or "never", over the manifests'; empty: the manifests'
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
  bool is_usable = false;    ///< not rejected and not shadowed so far
  bool is_isolated = false;  ///< usable, and in a process of its own
};

class ProviderRegistry {
 public:
  /// Throws the errors of the site policy. A provider whose options are wrong is rejected before
  /// its library is opened.
  explicit ProviderRegistry(ProviderSettings settings,
                            SearchEnvironment environment = SearchEnvironment::of_process());
  ~ProviderRegistry();

  /// The providers of a device that is ready, the highest priority first (the first owns its memory
  /// and streams). Opens only providers whose manifest lists the type. NOT_FOUND: no provider lists
  /// the type (the message has the nearest one), or no device has that id (the message lists those
  /// that exist). UNAVAILABLE: absent, blocked, or its providers could not be opened; each with the
  /// reason.
  std::vector<DeviceProvider> find(const Device& device);
  /// Opens all providers and lists the devices of those that are ready.
  std::vector<DeviceInfo> devices();
  /// `open`: first opens all candidates, and warns in the rows of ready ones about parts
  /// (Manifest::parts) that cannot be opened, which sessions do not check.
  std::vector<ProviderReport> report(bool open);
  std::vector<EnvironmentVariable> environment() const { return environment_.variables; }
  /// report() and environment() as JSON.
  std::string report_json(bool open);
  /// Adds a provider from code before all others. If it is rejected, throws the error of its row
  /// and adds nothing.
  void add(gantry_provider_entry entry, const std::string& manifest);
  /// Device types of all usable manifests, sorted.
  std::vector<std::string> device_types();

  /// The providers whose manifest could be read, without shadowed ones, in search order.
  std::vector<KnownProvider> known();
  /// The operators of usable providers, in search order: those that their manifests declare, and
  /// those that follow from these options, by provider name, for which it opens the provider.
  /// Errors of opening, and the provider's.
  DeclaredOperators declared_operators(const std::map<std::string, std::string>& options);

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
  [[nodiscard]] bool is_wanted(const ProviderCandidate& candidate) const;
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
