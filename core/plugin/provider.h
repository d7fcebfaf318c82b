// SPDX-License-Identifier: Apache-2.0
// An opened provider: its negotiated table and the devices it reported. At most one object per
// library lives in a process; it is shared by runtimes and sessions, and destroyed with the last of
// them. The library itself stays mapped. Any thread.
#pragma once

#include <gantry/device.h>
#include <gantry/peer_copies.h>
#include <gantry/provider.h>
#include <gantry/shared_memory.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  uint32_t index = 0;  ///< as claim and compile name it
  uint32_t flags = 0;  ///< GANTRY_DEVICE_*
  [[nodiscard]] bool is_ready() const { return info.state == "ready"; }
  [[nodiscard]] bool has_host_memory() const { return (flags & GANTRY_DEVICE_HOST_MEMORY) != 0; }
};

class PluginProvider {
 public:
  /// What opening needs; `stage` follows how far it came, in the words of ProviderReport.
  struct Origin {
    gantry_provider_entry entry = nullptr;
    std::string library;  ///< absolute path, or empty
    std::string options;  ///< JSON object, already checked
    MarkNumber mark = 0;
    /// Set: the library is opened in a process of its own, and `entry` is not used.
    std::optional<IsolationSettings> isolation;
  };

  /// Negotiates, checks the table, enumerates. On failure the provider's own destroy has run and
  /// nothing is left. ABI_MISMATCH: versions or layouts do not fit, a required slot is absent.
  /// Otherwise what the provider says.
  PluginProvider(Manifest manifest, const Origin& origin, std::string& stage);
  ~PluginProvider();
  PluginProvider(const PluginProvider&) = delete;
  PluginProvider& operator=(const PluginProvider&) = delete;

  [[nodiscard]] const std::string& name() const { return manifest_.name; }
  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  /// Absolute path; empty: it was added from code.
  [[nodiscard]] const std::string& library() const { return library_; }
  /// The provider's table, widened to this host's: slots that it does not have are null. `self` is
  /// in it.
  [[nodiscard]] const gantry_provider_api& api() const { return api_; }
  /// The extension of that name; null: it has none, or runs in a process of its own.
  [[nodiscard]] const gantry_peer_copies* peer_copies() const { return peer_copies_; }
  /// Likewise.
  [[nodiscard]] const gantry_shared_memory* shared_memory() const { return shared_memory_; }
  /// The process-wide options it was opened with.
  [[nodiscard]] const std::string& options() const { return options_; }
  /// Every device it reported, by index.
  [[nodiscard]] const std::vector<PluginDevice>& devices() const { return devices_; }
  /// The provider in a process of its own that this one stands for; null: it runs here.
  [[nodiscard]] const IsolatedProvider* isolated() const { return isolated_.get(); }
  /// As which crash marks name it.
  [[nodiscard]] MarkNumber mark() const { return mark_; }
  /// Whether a device can still be used; one object for as long as the provider
  /// is open.
  [[nodiscard]] const std::shared_ptr<DeviceHealth>& health(uint32_t index) const {
    return health_[index];
  }
  /// What is to be said of a device now: as reported, or blocked with the
  /// reason.
  [[nodiscard]] DeviceInfo info(uint32_t index) const;
  /// The device opened for use, on first call; null for devices in host memory. UNAVAILABLE: it is
  /// not ready, or what the provider says; a later call tries again.
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
