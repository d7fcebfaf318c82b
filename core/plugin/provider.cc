// SPDX-License-Identifier: Apache-2.0
#include "plugin/provider.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <utility>

#include "base/fork.h"
#include "plugin/discovery/manifest_operators.h"
#include "plugin/error.h"
#include "plugin/host.h"
#include "plugin/isolation/isolated_provider.h"

namespace gantry {
namespace {

// Calls a provider's function. An exception that crosses the boundary is against the rules, and is
// reported as an error.
template <class Call>
void call_provider(const std::string& who, Call&& call) {
  gantry_error* error = nullptr;
  try {
    error = call();
  } catch (const std::exception& exception) {
    throw Error(Code::kInternal, who + " let an exception cross the boundary: " + exception.what());
  } catch (...) {
    throw Error(Code::kInternal, who + " let an exception cross the boundary");
  }
  throw_if(error, who);
}

const char* state_name(uint32_t state) {
  switch (state) {
    case GANTRY_DEVICE_READY:
      return "ready";
    case GANTRY_DEVICE_ABSENT:
      return "absent";
    default:  // also states of a newer provider: the device is not used
      return "blocked";
  }
}

std::string text_of(gantry_str text) { return std::string(to_view(text)); }

}  // namespace

PluginProvider::PluginProvider(Manifest manifest, const Origin& origin,
                               const StageObserver& at_stage)
    : manifest_(std::move(manifest)),
      options_(origin.options),
      library_(origin.library),
      mark_(origin.mark) {
  watch_forks();
  try {
    at_stage("negotiate");
    if (origin.isolation) {
      isolate(origin);
    } else {
      negotiate(origin);
    }
    check_slots();
    at_stage("enumerate");
    enumerate();
    opened_.resize(devices_.size(), nullptr);
    for (size_t i = 0; i < devices_.size(); ++i)
      health_.push_back(std::make_shared<DeviceHealth>());
  } catch (...) {
    close();
    throw;
  }
}

PluginProvider::~PluginProvider() { close(); }

void PluginProvider::negotiate(const Origin& origin) {
  const std::string who = "provider \"" + name() + "\"";
  gantry_offer offer = {};
  offer.size = sizeof(offer);
  offer.minor = GANTRY_ABI_MINOR;
  offer.layout = GANTRY_ABI_LAYOUT;
  offer.host = &host_table();
  offer.library = to_str(library_);
  offer.manifest = to_str(manifest_.text);
  offer.options = to_str(options_);
  gantry_accept accept = {};
  accept.size = sizeof(accept);
  {
    const CallMark mark(mark_, MarkedCall::kNegotiate);
    call_provider(who, [&] { return origin.entry(&offer, &accept); });
  }
  if (!accept.api)
    throw Error(Code::kAbiMismatch, who + ": expected a table of functions, found null");
  // Copied before it is checked, so that close() can call the provider's destroy.
  std::memcpy(&api_, accept.api, std::min<size_t>(accept.api->size, sizeof(api_)));
  if (accept.layout != GANTRY_ABI_LAYOUT) {
    throw Error(Code::kAbiMismatch, who + ": expected the layout " +
                                        std::to_string(GANTRY_ABI_LAYOUT) +
                                        " of provider.h, found " + std::to_string(accept.layout) +
                                        "; rebuild the provider with this gantry's SDK");
  }
  if (accept.minor > GANTRY_ABI_MINOR) {
    throw Error(Code::kAbiMismatch, who + ": expected at most minor version " +
                                        std::to_string(GANTRY_ABI_MINOR) + ", found " +
                                        std::to_string(accept.minor) + "; upgrade gantry");
  }
}

// The worker process negotiates with the library; its proxy here has a table of this host.
void PluginProvider::isolate(const Origin& origin) {
  WorkerOpen open;
  open.manifest_file = manifest_.name + ".json";
  open.manifest = manifest_.text;
  open.library = library_;
  open.options = options_;
  isolated_ = std::make_unique<IsolatedProvider>(IsolatedProvider::Subject{name(), std::move(open)},
                                                 *origin.isolation);
  api_ = isolated_->table();
}

void PluginProvider::check_slots() const {
  const auto need = [&](bool is_there, const char* slot) {
    if (is_there) return;
    throw Error(Code::kAbiMismatch, "provider \"" + name() +
                                        "\": expected the required slot gantry_provider_api." +
                                        slot + ", found a table of " + std::to_string(api_.size) +
                                        " bytes in which it is absent or null");
  };
  need(api_.devices != nullptr, "devices");
  need(api_.claim != nullptr, "claim");
  need(api_.compile != nullptr, "compile");
  need(api_.destroy != nullptr, "destroy");
  const bool has_memory = std::any_of(
      devices_.begin(), devices_.end(),
      [](const PluginDevice& device) { return device.is_ready() && !device.has_host_memory(); });
  if (!has_memory) return;
  need(api_.device_open != nullptr, "device_open");
  need(api_.device_close != nullptr, "device_close");
  need(api_.memory_allocate != nullptr, "memory_allocate");
  need(api_.memory_free != nullptr, "memory_free");
  need(api_.stream_create != nullptr, "stream_create");
  need(api_.stream_destroy != nullptr, "stream_destroy");
  need(api_.stream_synchronize != nullptr, "stream_synchronize");
  need(api_.copy != nullptr, "copy");
  need(api_.event_create != nullptr, "event_create");
  need(api_.event_destroy != nullptr, "event_destroy");
  need(api_.event_record != nullptr, "event_record");
  need(api_.event_wait != nullptr, "event_wait");
  need(api_.event_synchronize != nullptr, "event_synchronize");
}

void PluginProvider::enumerate() {
  struct Sink {
    PluginProvider* provider;
    gantry_error* error = nullptr;  // the first; callbacks must not throw through the provider
  } sink{this};
  gantry_device_sink table = {};
  table.size = sizeof(table);
  table.self = &sink;
  table.device = [](void* self, const gantry_device_info* info) {
    auto& to = *static_cast<Sink*>(self);
    if (!to.error) to.error = guard([&] { to.provider->add_device(*info); });
  };
  const std::string who = "provider \"" + name() + "\"";
  try {
    const CallMark mark(mark_, MarkedCall::kEnumerate);
    call_provider(who, [&] { return api_.devices(api_.self, &table); });
  } catch (...) {
    release_error(sink.error);
    throw;
  }
  throw_if(sink.error, who);
  check_slots();
  find_peer_copies();
  find_shared_memory();
}

// Only for providers with two ready devices that have memory of their own.
void PluginProvider::find_peer_copies() {
  const auto count = std::count_if(
      devices_.begin(), devices_.end(),
      [](const PluginDevice& device) { return device.is_ready() && !device.has_host_memory(); });
  if (count < 2 || !api_.native_handle) return;
  constexpr std::string_view kKind = GANTRY_PEER_COPIES;
  const auto* found = static_cast<const gantry_peer_copies*>(
      api_.native_handle(nullptr, nullptr, {kKind.data(), kKind.size()}));
  if (found && GANTRY_HAS(found, copy) && found->copy) peer_copies_ = found;
}

// Not for providers in a process of their own: their device memory is not of this process.
void PluginProvider::find_shared_memory() {
  if (isolated_ || !api_.native_handle) return;
  constexpr std::string_view kKind = GANTRY_SHARED_MEMORY;
  const auto* found = static_cast<const gantry_shared_memory*>(
      api_.native_handle(nullptr, nullptr, {kKind.data(), kKind.size()}));
  if (found && GANTRY_HAS(found, settle) && found->device_of && found->stream_of && found->settle)
    shared_memory_ = found;
}

std::string PluginProvider::operators_json(const std::string& options) const {
  const std::string who = "provider \"" + name() + "\"";
  if (isolated_) return isolated_->operators_json(options);
  constexpr std::string_view kKind = GANTRY_DECLARED_OPERATORS;
  const auto* found = !api_.native_handle
                          ? nullptr
                          : static_cast<const gantry_declared_operators*>(
                                api_.native_handle(nullptr, nullptr, {kKind.data(), kKind.size()}));
  if (!found || !GANTRY_HAS(found, list) || !found->list) {
    throw Error(Code::kAbiMismatch,
                who +
                    ": expected the extension declared_operators.h, since its manifest says "
                    "\"operators\": \"by_options\", found none");
  }
  std::string text;
  const auto append = [](void* target, const void* data, uint64_t size_bytes) {
    static_cast<std::string*>(target)->append(static_cast<const char*>(data), size_bytes);
  };
  call_provider(who, [&] { return found->list(api_.self, to_str(options), &text, append); });
  return text;
}

std::vector<DeclaredOperator> PluginProvider::declared_operators(const std::string& options) const {
  return parse_operators(operators_json(options), "operators of provider \"" + name() + "\"");
}

void PluginProvider::add_device(const gantry_device_info& info) {
  PluginDevice device;
  device.index = static_cast<uint32_t>(devices_.size());
  device.flags = info.flags;
  device.info.device = {text_of(info.type), info.id};
  device.info.provider = name();
  device.info.name = text_of(info.name);
  device.info.uid = text_of(info.uid);
  device.info.state = state_name(info.state);
  device.info.reason = text_of(info.reason);
  if (device.info.reason.empty() && !device.is_ready())
    device.info.reason = "its provider gives no reason";
  device.info.memory_bytes = info.memory_bytes;
  device.info.is_stand_in = manifest_.is_stand_in;
  const std::string label = "device " + device.info.device.to_string();
  const auto& types = manifest_.devices;
  if (std::find(types.begin(), types.end(), device.info.device.type) == types.end()) {
    throw Error(Code::kInternal,
                label + ": expected a type that the manifest lists in /devices, found another one");
  }
  for (const PluginDevice& other : devices_) {
    if (other.info.device == device.info.device) {
      throw Error(Code::kInternal,
                  label + ": expected each id of a type once, found it reported twice");
    }
  }
  devices_.push_back(std::move(device));
}

gantry_device* PluginProvider::open_device(uint32_t index) {
  require_not_forked();
  const MutexLock lock(mutex_);
  if (index >= devices_.size()) {
    throw Error(Code::kInternal,
                "provider \"" + name() + "\" has no device of index " + std::to_string(index));
  }
  const PluginDevice& device = devices_[index];
  const std::string who =
      "device " + device.info.device.to_string() + " of provider \"" + name() + "\"";
  const DeviceInfo now = info(index);
  if (now.state != "ready")
    throw Error(Code::kUnavailable, who + " is " + now.state + ": " + now.reason);
  if (device.has_host_memory() || opened_[index]) return opened_[index];
  gantry_device* handle = nullptr;
  const CallMark mark(mark_, MarkedCall::kOpenDevice);
  call_provider(who, [&] { return api_.device_open(api_.self, index, &handle); });
  if (!handle)
    throw Error(Code::kInternal, who + ": device_open gave neither an error nor a device");
  opened_[index] = handle;
  return handle;
}

DeviceInfo PluginProvider::info(uint32_t index) const {
  DeviceInfo info = devices_[index].info;
  std::string reason;
  if (is_elsewhere()) {
    reason = "this process was forked from the one that opened its provider";
  } else if (!health_[index]->is_good()) {
    reason = health_[index]->reason();
  } else if (isolated_) {
    reason = isolated_->blocked();
  }
  if (!reason.empty()) {
    info.state = "blocked";
    info.reason = std::move(reason);
  }
  return info;
}

void PluginProvider::close() {
  // A forked child does not have the provider's threads, and could wait for them for ever.
  if (process_.is_elsewhere()) return;
  const CallMark mark(mark_, MarkedCall::kDestroy);
  {
    const MutexLock lock(mutex_);
    for (gantry_device*& device : opened_) {
      if (device) api_.device_close(std::exchange(device, nullptr));
    }
  }
  if (api_.destroy && api_.self) api_.destroy(std::exchange(api_.self, nullptr));
}

}  // namespace gantry
