// SPDX-License-Identifier: Apache-2.0
// The provider under test, opened as gantry would open it, but with the checks' own host. One
// object at a time, as the boundary has it. One thread, except for the table.
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

/// What gantry's own loader makes of the manifest; nothing of the provider has run.
struct Described {
  std::string name;
  std::string library;   ///< absolute path
  std::string manifest;  ///< text
  std::vector<std::string> types;
};
/// Failure: the loader refuses it, with its reason and hint.
Described describe(const Subject& subject);

/// The entry of the library. Failure: it cannot be opened, or has none.
gantry_provider_entry open_entry(const Described& described);

/// An offer as gantry makes it; borrows from both.
gantry_offer make_offer(const Described& described, const Subject& subject);

class OpenProvider {
 public:
  /// Failure: the entry refuses, or its answer cannot be used.
  explicit OpenProvider(const Subject& subject);
  ~OpenProvider();
  OpenProvider(const OpenProvider&) = delete;
  OpenProvider& operator=(const OpenProvider&) = delete;

  [[nodiscard]] const gantry_provider_api& api() const { return api_; }
  [[nodiscard]] gantry_provider* self() const { return api_.self; }
  [[nodiscard]] const Described& described() const { return described_; }
  /// What it reports now. Failure: an error.
  [[nodiscard]] std::vector<TestDevice> devices() const;
  /// The device under test. Skip: none is ready.
  [[nodiscard]] TestDevice device() const;

 private:
  const Subject& subject_;
  Described described_;
  gantry_provider_api api_ = {};
};

/// A device opened for use; its memory slots. Requires a device with memory of its own.
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

/// A copy of bytes that lie together.
gantry_copy plain_copy(uint32_t kind, void* target, const void* source, uint64_t size_bytes);

/// Throws a Failure if a call of the provider returned an error, which is released.
void expect_ok(gantry_error* error, const std::string& call);

}  // namespace gantry::checks
