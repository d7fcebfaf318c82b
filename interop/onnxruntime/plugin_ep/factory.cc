// SPDX-License-Identifier: Apache-2.0
// The two functions by which ONNX Runtime makes gantry one of its execution providers
// (RegisterExecutionProviderLibrary). Any thread.
#include <gantry/log.h>
#include <gantry/sdk/mutex.h>

#include <memory>
#include <string>
#include <utility>

#include "c_api/export.h"
#include "plugin_ep/provider.h"

namespace gantry::ort {
namespace {

/// OrtHardwareDeviceType.
constexpr int kCpu = 0;

HostLevel host_level(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return HostLevel::kError;
    case LogLevel::kWarning:
      return HostLevel::kWarning;
    case LogLevel::kInfo:
      return HostLevel::kInfo;
    default:
      return HostLevel::kVerbose;
  }
}

class Factory : public EpFactory {
 public:
  Factory(const HostApi& api, const host::Logger* logger)
      : EpFactory{.version = kStructVersion,
                  .get_name = [](const EpFactory*) noexcept { return kEpName; },
                  .get_vendor = [](const EpFactory*) noexcept { return "gantry"; },
                  .get_devices = get_devices,
                  .create = create,
                  .release = [](EpFactory*, Ep* ep) noexcept { delete static_cast<GantryEp*>(ep); },
                  .get_vendor_id = [](const EpFactory*) noexcept { return uint32_t{0}; },
                  .get_version = [](const EpFactory*) noexcept { return GANTRY_VERSION; },
                  .validate_compiled = validate_compiled,
                  .create_allocator = create_allocator,
                  .release_allocator = [](EpFactory*, void*) noexcept {},
                  .create_data_transfer = create_data_transfer,
                  .has_streams = [](const EpFactory*) noexcept { return false; },
                  .create_stream = create_stream},
        api_(api) {
    set_log_handler([this, logger](LogLevel level, std::string_view line) {
      write_log(api_, logger, host_level(level), std::string(line));
    });
  }
  ~Factory() { set_log_handler({}); }
  Factory(const Factory&) = delete;
  Factory& operator=(const Factory&) = delete;

 private:
  static Factory& of(EpFactory* self) { return *static_cast<Factory*>(self); }

  // gantry's providers for the CPU are always there. Those of other devices are asked for by the
  // option "device": tensors go through host memory anyway.
  static host::Status* get_devices(EpFactory* self, const host::Device* const* devices,
                                   size_t count, host::EpDevice** made, size_t most,
                                   size_t* made_count) noexcept {
    *made_count = 0;
    const HostApi& api = of(self).api_;
    return guarded_by(api, [&] {
      for (size_t i = 0; i < count && *made_count < most; ++i) {
        if (api.get<int>(Slot::kHardwareDeviceType, devices[i]) != kCpu) continue;
        api.expect_success(
            api.providers().create_device(self, devices[i], nullptr, nullptr, &made[*made_count]));
        ++*made_count;
      }
    });
  }

  static host::Status* create(EpFactory* self, const host::Device* const*,
                              const host::KeyValues* const*, size_t, const host::Settings* settings,
                              const host::Logger* logger, Ep** made) noexcept {
    Factory& factory = of(self);
    return guarded_by(factory.api_, [&] {
      EpOptions options = read_options(factory.api_, settings);
      const std::shared_ptr<Runtime> runtime = factory.runtime();
      require_valid(*runtime, options);
      *made =
          std::make_unique<GantryEp>(factory.api_, runtime, std::move(options), logger).release();
    });
  }

  static host::Status* validate_compiled(EpFactory*, const host::Device* const*, size_t,
                                         const char*, int* result) noexcept {
    *result = 0;  // OrtCompiledModelCompatibility: not applicable, as none are made
    return nullptr;
  }
  static host::Status* create_allocator(EpFactory*, const void*, const host::KeyValues*,
                                        void** made) noexcept {
    *made = nullptr;  // ONNX Runtime's own, for host memory
    return nullptr;
  }
  static host::Status* create_data_transfer(EpFactory*, void** made) noexcept {
    *made = nullptr;
    return nullptr;
  }
  static host::Status* create_stream(EpFactory*, const void*, const host::KeyValues*,
                                     void** made) noexcept {
    *made = nullptr;
    return nullptr;
  }

  std::shared_ptr<Runtime> runtime() {
    const sdk::MutexLock lock(mutex_);
    if (!runtime_) runtime_ = std::make_shared<Runtime>();
    return runtime_;
  }

  HostApi api_;
  sdk::Mutex mutex_;
  std::shared_ptr<Runtime> runtime_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace
}  // namespace gantry::ort

// NOLINTNEXTLINE(readability-identifier-naming): the name by which ONNX Runtime finds it
GANTRY_ORT_EXPORT gantry::ort::host::Status* CreateEpFactories(const char*, const void* base,
                                                               const gantry::ort::host::Logger* log,
                                                               gantry::ort::EpFactory** factories,
                                                               size_t most,
                                                               size_t* count) noexcept {
  using namespace gantry::ort;
  *count = 0;
  const HostApi api(base);
  return guarded_by(api, [&] {
    if (!api.is_new_enough()) {
      throw ApiError(ErrorCode::kNotImplemented,
                     "gantry needs ONNX Runtime 1.24 or newer, and this is " + api.version());
    }
    if (most == 0) throw ApiError(ErrorCode::kInvalidArgument, "there is no room for a factory");
    factories[0] = std::make_unique<Factory>(api, log).release();
    *count = 1;
  });
}

// NOLINTNEXTLINE(readability-identifier-naming): likewise
GANTRY_ORT_EXPORT gantry::ort::host::Status* ReleaseEpFactory(
    gantry::ort::EpFactory* factory) noexcept {
  delete static_cast<gantry::ort::Factory*>(factory);
  return nullptr;
}
