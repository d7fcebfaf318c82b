// SPDX-License-Identifier: Apache-2.0
// The provider under test, opened as gantry opens it, but with the checks' own host. Only one
// object may exist at a time, as the ABI requires. One thread, except for the function table.
#pragma once

#include <gantry/provider.h>

#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "host.h"

namespace gantry::checks {

struct TestDevice {
  uint32_t index = 0;
  uint32_t state = GANTRY_DEVICE_READY;
  std::string type;
  uint32_t id = 0;
  uint32_t flags = 0;
  std::string uid;
  std::string name;
  std::string reason;
  uint64_t memory_bytes = 0;

  [[nodiscard]] std::string label() const { return type + ":" + std::to_string(id); }
  [[nodiscard]] bool has_host_memory() const { return (flags & GANTRY_DEVICE_HOST_MEMORY) != 0; }
  bool operator==(const TestDevice&) const = default;
};

/// The manifest as gantry's loader reads it, before the library is opened.
struct Described {
  std::string name;
  std::string library;   ///< absolute path
  std::string manifest;  ///< text
  std::vector<std::string> types;
};
/// Throws Failure if the loader refuses the manifest, with its reason and hint.
Described describe(const Subject& subject);

/// Opens the library and returns its entry function. Throws Failure if it cannot be opened or has
/// no entry.
gantry_provider_entry open_entry(const Described& described);

/// The offer that gantry makes to a provider; refers to both arguments.
gantry_offer make_offer(const Described& described, const Subject& subject);

class OpenProvider {
 public:
  /// Throws Failure if the entry refuses, or its function table is unusable.
  explicit OpenProvider(const Subject& subject);
  ~OpenProvider();
  OpenProvider(const OpenProvider&) = delete;
  OpenProvider& operator=(const OpenProvider&) = delete;

  [[nodiscard]] const gantry_provider_api& api() const { return api_; }
  [[nodiscard]] gantry_provider* self() const { return api_.self; }
  [[nodiscard]] const Described& described() const { return described_; }
  /// The devices that the provider reports now. Throws Failure on an error.
  [[nodiscard]] std::vector<TestDevice> devices() const;
  /// The device under test. Throws Skip if none is ready.
  [[nodiscard]] TestDevice device() const;

 private:
  const Subject& subject_;
  Described described_;
  gantry_provider_api api_ = {};
};

/// An open device. Requires a device with its own memory.
class OpenDevice {
 public:
  OpenDevice(const OpenProvider& provider, uint32_t index);
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;
  [[nodiscard]] gantry_device* get() const { return device_; }
  [[nodiscard]] const gantry_provider_api& api() const { return api_; }

 private:
  const gantry_provider_api& api_;
  gantry_device* device_ = nullptr;
};

/// A contiguous copy.
gantry_copy plain_copy(uint32_t kind, void* target, const void* source, uint64_t size_bytes);

/// Throws a Failure if a call of the provider returned an error, which is released.
void expect_ok(gantry_error* error, const std::string& call);

}  // namespace gantry::checks
