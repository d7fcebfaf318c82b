// SPDX-License-Identifier: Apache-2.0
#include "driver/driver.h"

namespace gantry::cuda {
namespace {

// The first version with memory pools and CUDA graphs as they are used here.
constexpr int kOldestVersion = 12000;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

Driver::Driver(const LibrarySearch& search) : reason_(load(search)) {}

std::string Driver::load(const LibrarySearch& search) {
  const SharedLibrary library = search.open({"libcuda.so.1"});
  if (!library.is_open())
    return "NVIDIA's driver library libcuda.so.1 cannot be opened: " + library.reason();
  if (const char* missing = find_in(library)) {
    return std::string("the driver library has no function ") + missing +
           ", which drivers for CUDA " + version_text(kOldestVersion) +
           " and newer have; install a newer NVIDIA driver";
  }
  if (const int result = driver_version(&version_); result != kSuccess)
    return "the driver does not report its version: " + describe(result);
  if (version_ < kOldestVersion) {
    return "the driver is for CUDA " + version_text(version_) + ", needed is " +
           version_text(kOldestVersion) + " or newer; install a newer NVIDIA driver";
  }
  const int result = init(0);
  return result == kSuccess ? "" : "the driver cannot be initialised: " + describe(result);
}

std::string Driver::describe(int result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (error_name(result, &name) != kSuccess || !name)
    return "the unknown result " + std::to_string(result);
  if (error_string(result, &text) != kSuccess || !text) return name;
  return std::string(name) + " (" + text + ")";
}

}  // namespace gantry::cuda
