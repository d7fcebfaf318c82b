// SPDX-License-Identifier: Apache-2.0
#include "open_provider.h"

#include <gantry/device.h>
#include <gantry/runtime.h>

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "host_table.h"

namespace gantry::checks {
namespace {

std::string read_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

Described describe(const Subject& subject) {
  const nlohmann::json config = {
      {"providers", {{"search", {subject.manifest}}, {"probe", "never"}}}};
  Runtime runtime({config.dump(), {}});
  // Providers that the configuration names come first.
  const std::vector<ProviderReport> rows = runtime.report();
  expect(!rows.empty(), subject.manifest + ": expected a manifest, found none", "name a manifest");
  const ProviderReport& row = rows.front();
  expect(row.state != "rejected", row.message, row.hint);
  Described described = {row.name, row.library, read_file(subject.manifest), {}};
  const auto manifest = nlohmann::json::parse(described.manifest);
  described.types = manifest.at("devices").get<std::vector<std::string>>();
  return described;
}

gantry_provider_entry open_entry(const Described& described) {
  void* library = dlopen(described.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* said = dlerror();
    throw Failure(described.library +
                      ": expected a library that can be opened with all its "
                      "symbols bound, found: " +
                      (said ? said : "no reason"),
                  "link with -z defs, so that a missing symbol is an error when you build");
  }
  void* entry = dlsym(library, "gantry_provider_v1");
  expect(entry != nullptr,
         described.library + ": expected the export gantry_provider_v1, found none",
         "put GANTRY_DEFINE_PROVIDER(Class) into one source file");
  return reinterpret_cast<gantry_provider_entry>(entry);
}

gantry_offer make_offer(const Described& described, const Subject& subject) {
  gantry_offer offer = {};
  offer.size = sizeof(offer);
  offer.minor = GANTRY_ABI_MINOR;
  offer.layout = GANTRY_ABI_LAYOUT;
  offer.host = host_table();
  offer.library = to_str(described.library);
  offer.manifest = to_str(described.manifest);
  offer.options = to_str(subject.options);
  return offer;
}

OpenProvider::OpenProvider(const Subject& subject)
    : subject_(subject), described_(describe(subject)) {
  const gantry_provider_entry entry = open_entry(described_);
  const gantry_offer offer = make_offer(described_, subject);
  gantry_accept accept = {};
  accept.size = sizeof(accept);
  const std::string error = take_error(entry(&offer, &accept));
  expect(error.empty(), "gantry_provider_v1: expected it to accept the offer, found " + error,
         "accept every offer of this layout");
  expect(accept.api != nullptr, "gantry_provider_v1: expected a table, found null",
         "set gantry_accept.api before you return");
  std::memcpy(&api_, accept.api, std::min<size_t>(accept.api->size, sizeof(api_)));
  expect(api_.devices && api_.claim && api_.compile && api_.destroy,
         "gantry_provider_v1: expected a table with devices, claim, compile and destroy, found one "
         "of " +
             std::to_string(api_.size) + " bytes without one of them",
         "fill all required slots, and set size to sizeof(gantry_provider_api)");
}

OpenProvider::~OpenProvider() {
  if (api_.destroy) api_.destroy(api_.self);
}

std::vector<TestDevice> OpenProvider::devices() const {
  std::vector<TestDevice> found;
  gantry_device_sink sink = {};
  sink.size = sizeof(sink);
  sink.self = &found;
  sink.device = [](void* self, const gantry_device_info* info) {
    auto& devices = *static_cast<std::vector<TestDevice>*>(self);
    devices.push_back({static_cast<uint32_t>(devices.size()), info->state, to_string(info->type),
                       info->id, info->flags, to_string(info->uid), to_string(info->name),
                       to_string(info->reason), info->memory_bytes});
  };
  expect_ok(api_.devices(api_.self, &sink), "devices");
  return found;
}

TestDevice OpenProvider::device() const {
  const std::vector<TestDevice> found = devices();
  for (const TestDevice& device : found) {
    if (device.state != GANTRY_DEVICE_READY) continue;
    if (subject_.device.empty()) return device;
    const Device wanted = Device::parse(subject_.device);
    if (device.type == wanted.type && device.id == wanted.id) return device;
  }
  std::string seen;
  for (const TestDevice& device : found) {
    seen += (seen.empty() ? "" : ", ") + device.label() + " (" +
            (device.state == GANTRY_DEVICE_READY ? "ready" : device.reason) + ")";
  }
  throw Skip((subject_.device.empty() ? "no device" : "no device " + subject_.device) +
             " is ready on this machine" + (seen.empty() ? "" : ": " + seen));
}

OpenDevice::OpenDevice(const OpenProvider& provider, uint32_t index) : api_(provider.api()) {
  expect(api_.device_open && api_.device_close && api_.memory_allocate && api_.memory_free &&
             api_.stream_create && api_.stream_destroy && api_.stream_synchronize && api_.copy &&
             api_.event_create && api_.event_destroy && api_.event_record && api_.event_wait &&
             api_.event_synchronize,
         "expected every slot from device_open to event_synchronize of a device with memory of its "
         "own, found a null one",
         "fill the slots of section 7, or report the device with GANTRY_DEVICE_HOST_MEMORY");
  expect_ok(api_.device_open(api_.self, index, &device_), "device_open");
  expect(device_ != nullptr, "device_open: expected an error or a device, found neither",
         "set *out_device");
}

OpenDevice::~OpenDevice() { api_.device_close(device_); }

gantry_copy plain_copy(uint32_t kind, void* target, const void* source, uint64_t size_bytes) {
  gantry_copy copy = {};
  copy.size = sizeof(copy);
  copy.kind = kind;
  copy.target = target;
  copy.source = source;
  copy.rows = 1;
  copy.row_bytes = copy.target_pitch = copy.source_pitch = size_bytes;
  return copy;
}

void expect_ok(gantry_error* error, const std::string& call) {
  const std::string text = take_error(error);
  expect(text.empty(), call + ": expected success, found " + text,
         "see the provider's own message; the call is one that has to work");
}

}  // namespace gantry::checks
