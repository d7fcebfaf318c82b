// SPDX-License-Identifier: Apache-2.0
// A runtime with a simulated accelerator of its own: a copy of the library, so that every test
// chooses its options, and its journal.
#pragma once

#include <gantry/gantry.h>

#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../providers/sim/journal.h"
#include "session/runtime_impl.h"
#include "support/model_text.h"
#include "support/temp_folder.h"

namespace gantry::test {

class SimRuntime {
 public:
  /// `options`: of the provider "sim", JSON.
  explicit SimRuntime(const std::string& options = "{}")
      : library_(
            folder_.copy(std::string(GANTRY_PROVIDERS) + "/libgantry_sim.so", "libgantry_sim.so")),
        manifest_(folder_.copy(std::string(GANTRY_PROVIDERS) + "/sim.json", "sim.json")),
        runtime_({nlohmann::json{{"providers",
                                  {{"search", {folder_.path()}},
                                   {"options", {{"sim", nlohmann::json::parse(options)}}}}}}
                      .dump()}) {}

  Runtime& operator*() { return runtime_; }
  Runtime* operator->() { return &runtime_; }

  /// A session over a model in text form. `config`: JSON.
  Session session(const std::string& text, const std::string& config,
                  const std::string& device = "") {
    const std::string bytes = model_bytes(text);
    SessionOptions options;
    options.device = device;
    options.config_json = config;
    return {runtime_, {as_bytes(bytes), {}}, options};
  }
  /// The same nodes on the CPU alone.
  Session on_cpu(const std::string& text) { return session(text, "{}", "CPU"); }

  /// The provider's own copy of its library.
  [[nodiscard]] const std::string& library() const { return library_; }

  /// Opens SIM:0 if nobody has.
  sim::Journal& journal() {
    const DeviceProvider sim = runtime_.impl().registry.find({"SIM", 0})[0];
    gantry_device* device = sim.provider->open_device(sim.device_index);
    const std::string_view kind = "sim.journal";
    return *static_cast<sim::Journal*>(
        sim.provider->api().native_handle(device, nullptr, {kind.data(), kind.size()}));
  }

 private:
  TempFolder folder_;
  std::string library_;
  std::string manifest_;
  Runtime runtime_;
};

/// A configuration that prefers SIM:0, then the CPU, and sends the nodes named to devices.
inline std::string placed(const std::map<std::string, std::string>& devices,
                          const nlohmann::json& session = nlohmann::json::object()) {
  nlohmann::json rules = nlohmann::json::array();
  for (const auto& [name, device] : devices) rules.push_back({{"name", name}, {"device", device}});
  return nlohmann::json{
      {"placement", {{"prefer", {"SIM:0", "CPU"}}, {"fallback", "allow"}, {"rules", rules}}},
      {"session", session}}
      .dump();
}

/// Numbers between -1 and 1 that differ with `seed`.
inline Tensor numbers(const std::vector<int64_t>& shape, uint32_t seed = 1) {
  Tensor tensor(DType::kFloat, shape);
  uint32_t state = seed * 2654435761U + 12345;
  for (float& element : tensor.elements<float>()) {
    state = state * 1664525U + 1013904223U;
    element = static_cast<float>(state >> 8) / static_cast<float>(1U << 23) - 1.0F;
  }
  return tensor;
}

inline void expect_close(const std::vector<Tensor>& ours, const std::vector<Tensor>& expected) {
  ASSERT_EQ(ours.size(), expected.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(ours[i].shape(), expected[i].shape());
    const auto x = ours[i].elements<float>();
    const auto y = expected[i].elements<float>();
    for (size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], y[k], 1e-4) << "output " << i;
  }
}

}  // namespace gantry::test
