// SPDX-License-Identifier: Apache-2.0
#include "ep_host/library.h"

#include <gantry/sdk/error.h>

#include <dlfcn.h>
#include <iterator>

#include "custom_ops/library_call.h"
#include "ep_host/functions.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

using CreateFactories = host::Status* (*)(const char* name, const void* base, const Logger* logger,
                                          EpFactory** factories, size_t most, size_t* count);

void* find(void* handle, const std::string& path, const char* name) {
  void* found = dlsym(handle, name);
  if (!found) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     path + ": expected a plugin execution provider made for ONNX Runtime, which " +
                         "exports " + name + "; this library does not");
  }
  return found;
}

}  // namespace

void expect_success(host::Status* status) { expect_success(opaque<Status>(status)); }

EpLibrary::EpLibrary(const std::string& path,
                     const std::vector<std::unique_ptr<MachineDevice>>& machine,
                     const Logger& logger)
    : path_(path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw sdk::Error(GANTRY_NOT_FOUND, dlerror());
  const auto create = reinterpret_cast<CreateFactories>(find(handle, path, "CreateEpFactories"));
  release_ = reinterpret_cast<ReleaseFactory>(find(handle, path, "ReleaseEpFactory"));
  call_library(path, [&] {
    constexpr size_t kMost = 4;  // as ONNX Runtime gives room for
    EpFactory* made[kMost] = {};
    size_t count = 0;
    expect_success(create("gantry", api_base(), &logger, made, kMost, &count));
    factories_.assign(made, made + std::min(count, kMost));
    for (EpFactory* factory : factories_) add_devices(factory, machine);
  });
}

EpLibrary::~EpLibrary() {
  devices_.clear();
  for (EpFactory* factory : factories_) {
    if (auto* status = opaque<Status>(release_(factory))) release_status(status);
  }
}

void EpLibrary::add_devices(EpFactory* factory,
                            const std::vector<std::unique_ptr<MachineDevice>>& machine) {
  std::vector<const host::Device*> given;
  given.reserve(machine.size());
  for (const auto& device : machine) given.push_back(opaque<const host::Device>(device.get()));
  constexpr size_t kMost = 8;  // likewise
  host::EpDevice* made[kMost] = {};
  size_t count = 0;
  host::Status* status =
      factory->get_devices(factory, given.data(), given.size(), made, kMost, &count);
  for (size_t i = 0; i < std::min(count, kMost); ++i)
    devices_.emplace_back(opaque<OfferedDevice>(made[i]));
  expect_success(status);
}

}  // namespace gantry::ort
