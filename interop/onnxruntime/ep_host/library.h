// SPDX-License-Identifier: Apache-2.0
// A library of plugin execution providers, opened. It stays open as long as the process. Any
// thread, once it is made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ep_host/devices.h"
#include "objects/logger.h"

namespace gantry::ort {

class EpLibrary {
 public:
  /// Opens the library, makes its factories and asks each which of the machine's devices it can
  /// use. `machine` and `logger` must outlive this. Throws sdk::Error: it cannot be opened, is no
  /// such library, or fails.
  EpLibrary(const std::string& path, const std::vector<std::unique_ptr<MachineDevice>>& machine,
            const Logger& logger);
  ~EpLibrary();
  EpLibrary(const EpLibrary&) = delete;
  EpLibrary& operator=(const EpLibrary&) = delete;

  [[nodiscard]] const std::vector<std::unique_ptr<OfferedDevice>>& devices() const {
    return devices_;
  }

 private:
  using ReleaseFactory = host::Status* (*)(EpFactory*);

  void add_devices(EpFactory* factory, const std::vector<std::unique_ptr<MachineDevice>>& machine);

  std::string path_;
  ReleaseFactory release_ = nullptr;
  std::vector<EpFactory*> factories_;
  std::vector<std::unique_ptr<OfferedDevice>> devices_;
};

/// As that of objects/status.h.
void expect_success(host::Status* status);

}  // namespace gantry::ort
