// SPDX-License-Identifier: Apache-2.0
#include <gantry/artefacts.h>
#include <gantry/runtime.h>

#include <utility>

#include "artefact/artefact_folder.h"
#include "base/fork.h"
#include "base/log.h"
#include "session/runtime_impl.h"

namespace gantry {
namespace {

std::vector<Config::Document> documents_of(const RuntimeOptions& options) {
  return {Config::of_environment(), {"runtime", options.config_json, options.config_file}};
}

}  // namespace

Runtime::Impl::Impl(const RuntimeOptions& options)
    : documents(documents_of(options)),
      config(Config::parse(documents)),
      registry(config.providers) {
  check_against_manifests(config, {});
}

// Throws the errors and logs the warnings. `document` not empty: only its findings, as those of the
// other documents have been reported.
void Runtime::Impl::check_against_manifests(const Config& checked, const std::string& document) {
  std::vector<ConfigFinding> findings =
      provider_findings(checked.root, checked.origins, registry.known());
  sort_findings(findings);
  throw_errors_of(findings);
  for (const ConfigFinding& finding : findings) {
    // Findings about devices are reported by the session that uses the device.
    const bool is_of_providers = finding.pointer.starts_with("/providers/");
    if (is_of_providers && (document.empty() || finding.document == document))
      log(LogLevel::kWarning, to_string(finding));
  }
}

Config Runtime::Impl::session_config(const SessionOptions& options) {
  if (options.config_json.empty() && options.config_file.empty()) return config;
  const Config::Document document{"session", options.config_json, options.config_file};
  const Config own = Config::parse({document});
  for (const char* pointer :
       {"/providers/search", "/providers/disable", "/providers/trust", "/providers/priority",
        "/providers/probe", "/providers/isolation", "/providers/worker"}) {
    if (!own.origins.contains(pointer)) continue;
    throw Error(
        Code::kInvalidArgument,
        own.origins.text_of(pointer) + ": " + pointer +
            ": belongs to the runtime's configuration, which decides what providers there are");
  }
  std::vector<Config::Document> all = documents;
  all.push_back(document);
  Config merged = Config::parse(all);
  check_against_manifests(merged, document.name());
  return merged;
}

Runtime::Runtime(const RuntimeOptions& options) : impl_(std::make_unique<Impl>(options)) {}

Runtime::~Runtime() { abandon_if_forked(impl_); }

std::vector<DeviceInfo> Runtime::devices() { return impl_->registry.devices(); }

bool Runtime::supports_device(std::string_view device) {
  try {
    return !impl_->registry.find(Device::parse(device)).empty();
  } catch (const Error&) {
    return false;
  }
}

std::vector<ProviderReport> Runtime::report(bool open) { return impl_->registry.report(open); }

std::vector<EnvironmentVariable> Runtime::environment() const {
  return impl_->registry.environment();
}

std::string Runtime::report_json(bool open) { return impl_->registry.report_json(open); }

ArtefactCache artefact_cache(Runtime& runtime) {
  const Config& config = runtime.impl().config;
  ArtefactCache cache{config.session.artefact_cache, config.session.artefact_cache_limit_bytes, {}};
  if (!cache.folder.empty()) cache.entries = ArtefactFolder(cache.folder).list();
  return cache;
}

uint64_t clear_artefact_cache(Runtime& runtime) {
  const std::string& folder = runtime.impl().config.session.artefact_cache;
  return folder.empty() ? 0 : ArtefactFolder(folder).clear();
}

void Runtime::add_provider(void* entry, const std::string& manifest) {
  impl_->registry.add(reinterpret_cast<gantry_provider_entry>(entry), manifest);
}

}  // namespace gantry
