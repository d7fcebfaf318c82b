// SPDX-License-Identifier: Apache-2.0
// Devices: how they are named and what is known of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

/// A device as users name it: "TYPE" or "TYPE:id". The type set is open; TYPE alone means id 0.
struct Device {
  std::string type =
      "CPU";  ///< letters, digits and '_', as the manifest spells it (upper case by custom)
  uint32_t id = 0;

  /// Parses "TYPE" or "TYPE:id" and nothing else. INVALID_ARGUMENT: any other text.
  static Device parse(std::string_view text);
  /// "TYPE:id".
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const Device&, const Device&) = default;
  // clang-tidy 14 takes the 0 in what the compiler makes of a < b for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const Device&, const Device&) = default;
};

/// A row of Runtime::devices().
struct DeviceInfo {
  Device device;
  std::string provider;       ///< name of the provider that reports it
  std::string name;           ///< "AMD EPYC 9V45"
  std::string uid;            ///< stable over restarts; may be empty
  std::string state;          ///< "ready", "absent" or "blocked"
  std::string reason;         ///< of a state other than ready
  uint64_t memory_bytes = 0;  ///< 0: unknown
  bool is_stand_in = false;   ///< emulates another device for tests (the manifest's /stand_in); not
                              ///< to be chosen for speed
};

}  // namespace gantry
