// SPDX-License-Identifier: Apache-2.0
// Modules and kernels of the fake libcuda.so.1. A programmatic dependent launch requires a
// preceding kernel, and support by driver and device. The emulator checks that every kernel waits.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../../../../providers/cuda/driver/launch_config.h"
#include "fake_stream.h"
#include "kernel_emulator.h"

using namespace gantry::test;  // NOLINT(google-build-using-namespace): all of it is its own

namespace {

struct Function {
  const EmulatedKernel* kernel;
};
struct Module {
  EmulatedKernel kernel;
  Function function;
  explicit Module(const void* image) : kernel(image), function{&kernel} {}
};

// Whether the stream accepts a kernel with these attributes now.
bool takes(const gantry::cuda::LaunchConfig& config, const Stream& stream) {
  if (config.attribute_count == 0) return true;
  const Settings& settings = world().settings;
  return config.attribute_count == 1 && config.attributes[0].id == 6 &&
         config.attributes[0].value[0] == 1 && settings.early != 0 && settings.version >= 12030 &&
         settings.capability >= 90 && stream.is_behind_kernel;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
EXPORT int cuModuleLoadData(void** module, const void* image) {
  ENTER_UNRECORDED("cuModuleLoadData");
  try {
    *module = new Module(image);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake driver: %s\n", error.what());
    return kBadImage;
  }
  ++world().counters.modules;
  return kOk;
}
EXPORT int cuModuleUnload(void* module) {
  if (!current_context) return kNoContext;
  delete static_cast<Module*>(module);
  --world().counters.modules;
  return kOk;
}
EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  ENTER_CONTEXT("cuModuleGetFunction");
  if (std::string(name) != "kernel") return kNotFound;
  *function = &static_cast<Module*>(module)->function;
  return kOk;
}
EXPORT int cuLaunchKernelEx(const gantry::cuda::LaunchConfig* config, void* function,
                            void** parameters, void**) {
  ENTER_CONTEXT("cuLaunchKernelEx");
  const unsigned blocks = config->blocks;
  const unsigned threads = config->threads;
  Stream& stream = *of(config->stream);
  if (blocks == 0 || config->blocks_y != 1 || config->blocks_z != 1 || threads == 0 ||
      threads > 1024 || config->threads_y != 1 || config->threads_z != 1 || !takes(*config, stream))
    return kInvalid;
  if (config->attribute_count > 0) {
    ++world().counters.early_launches;
    stream.has_recorded_early = true;
  }
  const EmulatedKernel* kernel = static_cast<Function*>(function)->kernel;
  // Parameters are copied: the caller may change them after the call.
  const char* given = static_cast<const char*>(parameters[0]);
  const auto room = std::make_shared<std::vector<char>>(given, given + kernel->parameter_bytes());
  const int result = stream.give([=] {
    if (lost_or_ok() != kOk) return;
    if (static_cast<int>(++world().counters.launches) == world().settings.lost)
      return break_device();
    try {
      kernel->run(blocks, threads, room->data());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "fake driver: %s\n", error.what());
      break_device();
    }
  });
  stream.is_behind_kernel = true;
  return result;
}
// NOLINTEND(readability-identifier-naming)
