// SPDX-License-Identifier: Apache-2.0
#include <gantry/runtime.h>

#include <utility>

#include "schedule/run_services.h"
#include "session/runtime_impl.h"

namespace gantry {
namespace {

std::vector<Config::Document> documents_of(const RuntimeOptions& options) {
  return {Config::of_environment(), {"runtime", options.config_json}};
}

}  // namespace

Runtime::Impl::Impl(const RuntimeOptions& options)
    : documents(documents_of(options)),
      config(Config::parse(documents)),
      registry(config.providers) {
  install_run_services_once();
}

Config Runtime::Impl::session_config(const std::string& config_json) {
  if (config_json.empty()) return config;
  const Config own = Config::parse({{"session", config_json}});
  for (const char* pointer :
       {"/providers/search", "/providers/disable", "/providers/priority", "/providers/probe"}) {
    const auto first = own.origins.lower_bound(pointer);
    if (first != own.origins.end() && first->first.rfind(pointer, 0) == 0) {
      throw Error(
          Code::kInvalidArgument,
          std::string("configuration (session): ") + pointer +
              ": belongs to the runtime's configuration, which decides what providers there are");
    }
  }
  std::vector<Config::Document> all = documents;
  all.push_back({"session", config_json});
  Config merged = Config::parse(all);
  registry.check_options(merged.providers.options);
  return merged;
}

Runtime::Runtime(const RuntimeOptions& options) : impl_(std::make_unique<Impl>(options)) {}

Runtime::~Runtime() = default;

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

void Runtime::add_provider(void* entry, const std::string& manifest) {
  impl_->registry.add(reinterpret_cast<gantry_provider_entry>(entry), manifest);
}

}  // namespace gantry
