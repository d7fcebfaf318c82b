// SPDX-License-Identifier: Apache-2.0
// An opened provider: its negotiated table and its devices. A process has at most one object per
// library; runtimes and sessions share it, and the last of them destroys it. The library itself
// stays mapped. Any thread.
#pragma once

#include <gantry/declared_operators.h>
#include <gantry/device.h>
#include <gantry/peer_copies.h>
#include <gantry/provider.h>
#include <gantry/shared_memory.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fork.h"
#include "base/mutex.h"
#include "plugin/crash_marks.h"
#include "plugin/device_health.h"
#include "plugin/discovery/manifest.h"
#include "plugin/isolation/isolation.h"

namespace gantry {

class IsolatedProvider;

/// A device as its provider reported it.
struct PluginDevice {
  DeviceInfo info;
  uint32_t index = 0;  ///< gantry_claim_request.device and gantry_compile.device
  uint32_t flags = 0;  ///< GANTRY_DEVICE_*
  [[nodiscard]] bool is_ready() const { return info.state == "ready"; }
  [[nodiscard]] bool has_host_memory() const { return (flags & GANTRY_DEVICE_HOST_MEMORY) != 0; }
};

class PluginProvider {
 public:
  /// The arguments of opening.
  struct Origin {
    gantry_provider_entry entry = nullptr;
    std::string library;  ///< absolute path, or empty
    std::string options;  ///< JSON object, already checked
    MarkNumber mark = 0;
    /// Set: the library is opened in a process of its own, and `entry` is not used.
    std::optional<IsolationSettings> isolation;
  };

  /// Called at the beginning of each stage, with its name as in ProviderReport::stage.
  using StageObserver = std::function<void(const char* stage)>;

  /// Negotiates, checks the table and enumerates the devices. On failure the provider has been
  /// destroyed. ABI_MISMATCH: versions or layouts differ, or a required slot is null. Otherwise the
  /// provider's error.
  PluginProvider(Manifest manifest, const Origin& origin, const StageObserver& at_stage);
  ~PluginProvider();
  PluginProvider(const PluginProvider&) = delete;
  PluginProvider& operator=(const PluginProvider&) = delete;

  [[nodiscard]] const std::string& name() const { return manifest_.name; }
  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  /// Absolute path; empty: the provider was added from code.
  [[nodiscard]] const std::string& library() const { return library_; }
  /// The provider's table, with `self`. It has all slots of this host; those that the provider does
  /// not have are null.
  [[nodiscard]] const gantry_provider_api& api() const { return api_; }
  /// The extension peer_copies.h; null: the provider has none, has fewer than two usable devices,
  /// or runs in a process of its own.
  [[nodiscard]] const gantry_peer_copies* peer_copies() const { return peer_copies_; }
  /// The extension shared_memory.h; null: the provider has none, or runs in a process of its own.
  [[nodiscard]] const gantry_shared_memory* shared_memory() const { return shared_memory_; }
  /// The operators that follow from options of a session (declared_operators.h), as JSON text.
  /// ABI_MISMATCH: the provider does not have the extension; else its error.
  [[nodiscard]] std::string operators_json(const std::string& options) const;
  /// The same. INVALID_ARGUMENT: they are not as manifests have them.
  [[nodiscard]] std::vector<DeclaredOperator> declared_operators(const std::string& options) const;
  /// The process-wide options with which it was opened.
  [[nodiscard]] const std::string& options() const { return options_; }
  /// Every device that the provider reported, by index.
  [[nodiscard]] const std::vector<PluginDevice>& devices() const { return devices_; }
  /// The proxy of a provider in a process of its own; null: the provider runs in this process.
  [[nodiscard]] const IsolatedProvider* isolated() const { return isolated_.get(); }
  /// True in a forked child of the process that opened it, unless it survives forks.
  [[nodiscard]] bool is_elsewhere() const {
    return process_.is_elsewhere() && (isolated_ || !manifest_.survives_fork);
  }
  /// The provider's number in crash marks.
  [[nodiscard]] MarkNumber mark() const { return mark_; }
  /// The state of a device; the same object as long as the provider is open.
  [[nodiscard]] const std::shared_ptr<DeviceHealth>& health(uint32_t index) const {
    return health_[index];
  }
  /// The current state of a device: as reported, or blocked with the reason.
  [[nodiscard]] DeviceInfo info(uint32_t index) const;
  /// The device, opened on the first call; null for devices in host memory. UNAVAILABLE: the device
  /// is not ready; else the provider's error. After an error a later call tries again.
  gantry_device* open_device(uint32_t index);

 private:
  void negotiate(const Origin& origin);
  void isolate(const Origin& origin);
  void check_slots() const;
  void enumerate();
  void find_peer_copies();
  void find_shared_memory();
  void add_device(const gantry_device_info& info);
  void close();

  Manifest manifest_;
  ProcessBound process_;
  std::string options_;
  std::string library_;
  MarkNumber mark_ = 0;
  std::unique_ptr<IsolatedProvider> isolated_;
  gantry_provider_api api_ = {};
  const gantry_peer_copies* peer_copies_ = nullptr;
  const gantry_shared_memory* shared_memory_ = nullptr;
  std::vector<PluginDevice> devices_;
  Mutex mutex_;
  std::vector<gantry_device*> opened_ GANTRY_GUARDED_BY(mutex_);  // by index; null: not yet
  std::vector<std::shared_ptr<DeviceHealth>> health_;
};

}  // namespace gantry
