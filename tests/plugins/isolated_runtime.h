// SPDX-License-Identifier: Apache-2.0
// A runtime whose provider "crashing" runs in a process of its own: a copy of the library, as
// crashes are counted by it.
#pragma once

#include <gantry/gantry.h>

#include <nlohmann/json.hpp>
#include <string>

#include "plugin/isolation/isolated_provider.h"
#include "provider_folder.h"
#include "session/runtime_impl.h"
#include "support/model_text.h"

namespace gantry::test {

class IsolatedRuntime {
 public:
  /// `limits`: member /providers/worker of the provider. `options`: its process-wide ones.
  /// `members`: of its manifest, beside the usual ones.
  explicit IsolatedRuntime(const nlohmann::json& limits = nlohmann::json::object(),
                           const nlohmann::json& options = nlohmann::json::object(),
                           const nlohmann::json& members = nlohmann::json::object()) {
    nlohmann::json manifest = {
        {"options",
         {{"type", "object"},
          {"properties", {{"mode", {{"type", "string"}}}, {"gate", {{"type", "string"}}}}},
          {"additionalProperties", false}}}};
    manifest.update(members);
    folder_.add("crashing", "crashing", manifest);
    options_.config_json = nlohmann::json{{"providers",
                                           {{"search", {folder_.path("")}},
                                            {"options", {{"crashing", options}}},
                                            {"isolation", {{"crashing", "process"}}},
                                            {"worker", {{"crashing", limits}}}}}}
                               .dump();
    runtime_ = another();
  }
  Runtime* operator->() { return runtime_.get(); }

  /// A runtime of the same configuration, which shares the provider's process.
  [[nodiscard]] std::unique_ptr<Runtime> another() const {
    return std::make_unique<Runtime>(options_);
  }
  /// A session over a model in text form.
  Session session(const std::string& text, const std::string& device,
                  const nlohmann::json& config = nlohmann::json::object()) {
    const std::string bytes = model_bytes(text);
    SessionOptions options;
    options.device = device;
    options.config_json = config.dump();
    return {*runtime_, {as_bytes(bytes), {}}, options};
  }
  /// The configuration of a session in which the provider misbehaves.
  [[nodiscard]] static nlohmann::json mode(const std::string& name) {
    return {{"providers", {{"options", {{"crashing", {{"mode", name}}}}}}}};
  }
  /// The process it is in now, started if need be.
  int64_t worker() {
    const DeviceProvider found = runtime_->impl().registry.find({"FAKE", 0})[0];
    auto* isolated = const_cast<IsolatedProvider*>(found.provider->isolated());
    return isolated ? isolated->worker({}).process->id() : 0;
  }
  /// Of its row.
  std::string warnings() {
    std::string all;
    for (const ProviderReport& row : runtime_->report()) {
      for (const std::string& warning : row.warnings) all += row.name == "crashing" ? warning : "";
    }
    return all;
  }

 private:
  ProviderFolder folder_;
  RuntimeOptions options_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace gantry::test
