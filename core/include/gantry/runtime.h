// SPDX-License-Identifier: Apache-2.0
// The runtime: finds providers and keeps the opened ones. Make one per process; sessions share it.
// Any thread.
#pragma once

#include <gantry/device.h>
#include <gantry/error.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace gantry {

/// How far a provider candidate came, and why no further. A row of Runtime::report().
struct ProviderReport {
  std::string name;      ///< of the manifest; its file name if it could not be read
  std::string manifest;  ///< path, or "<code>" for providers added from code
  std::string library;   ///< resolved path; empty if not known yet
  std::string version;
  /// collected, parsed, policy, file checks, requirements, probe, load, negotiate, enumerate, ready
  std::string stage;
  std::string state;  ///< "ready", "not opened", "rejected" or "shadowed"
  Code code = Code::kOk;
  std::string message;  ///< one sentence; empty if all is well
  std::string hint;     ///< what to do; may be empty
};

struct RuntimeOptions {
  /// Configuration: a JSON document (ARCHITECTURE §10) or empty. Checked before anything is opened.
  std::string config_json;
};

/// Finds manifests on construction, opens no library. A library is opened when a device of its type
/// is first wanted.
class Runtime {
 public:
  /// INVALID_ARGUMENT: the configuration is wrong (JSON pointer, expected, found).
  explicit Runtime(const RuntimeOptions& options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Every device of every provider; opens all of them. Absent ones are listed with the reason.
  [[nodiscard]] std::vector<DeviceInfo> devices();
  /// True if the device string names a device that is ready; false for any other string, also a
  /// malformed one.
  [[nodiscard]] bool supports_device(std::string_view device);
  /// A row for every candidate, in search order; `open` tries those that were not needed yet.
  [[nodiscard]] std::vector<ProviderReport> report(bool open = false);

  /// Adds a provider from code, before the others: `entry` is a gantry_provider_entry
  /// (gantry/provider.h), `manifest` the text of its manifest, whose "library" member may be left
  /// out. Throws what the report would say.
  void add_provider(void* entry, const std::string& manifest);

  class Impl;
  [[nodiscard]] Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace gantry
