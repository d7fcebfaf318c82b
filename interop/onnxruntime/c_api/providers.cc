// SPDX-License-Identifier: Apache-2.0
// Execution providers, by which a program asks for devices: "CUDA" or "CUDAExecutionProvider" is
// gantry's device type CUDA, the option device_id its number.
#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <string>

#include "c_api/environment.h"
#include "c_api/export.h"
#include "c_api/guard.h"
#include "c_api/session_options.h"

namespace gantry::ort {
namespace {

/// OrtCUDAProviderOptionsV2, which programs see as an opaque object.
struct CudaOptions {
  std::string device_id = "0";
};

/// OrtCUDAProviderOptions, of which only the first member is read.
struct PlainCudaOptions {
  int device_id;
};

std::string type_of_provider(std::string name) {
  constexpr std::string_view kSuffix = "ExecutionProvider";
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return name;
}

void prefer(SessionSettings& options, const std::string& type, const std::string& id) {
  const std::string device = type + ":" + id;
  const std::shared_ptr<Runtime> runtime = shared_runtime();
  if (!runtime->supports_device(device)) {
    std::string there;
    for (const std::string& known : device_types(*runtime))
      there += there.empty() ? known : ", " + known;
    throw ApiError(ErrorCode::kInvalidArgument, "execution provider " + type + ": no device " +
                                                    device + " is ready; there is " + there);
  }
  options.devices.push_back(device);
}

Status* append(SessionSettings* options, const char* name, const char* const* keys,
               const char* const* values, size_t count) {
  return guarded_call([&] {
    std::string id = "0";
    for (size_t i = 0; i < count; ++i) {
      if (std::string_view(keys[i]) == "device_id") id = values[i];
    }
    prefer(*options, type_of_provider(name), id);
  });
}

Status* append_plain_cuda(SessionSettings* options, const PlainCudaOptions* cuda) {
  return guarded_call([&] { prefer(*options, "CUDA", std::to_string(cuda->device_id)); });
}
Status* append_cuda(SessionSettings* options, const CudaOptions* cuda) {
  return guarded_call([&] { prefer(*options, "CUDA", cuda->device_id); });
}
Status* create_cuda(CudaOptions** out) {
  return guarded_call([&] { *out = new CudaOptions; });
}
Status* update_cuda(CudaOptions* options, const char* const* keys, const char* const* values,
                    size_t count) {
  return guarded_call([&] {
    for (size_t i = 0; i < count; ++i) {
      if (std::string_view(keys[i]) == "device_id") options->device_id = values[i];
    }
  });
}
void release_cuda(CudaOptions* options) { delete options; }

}  // namespace

void add_provider_functions(ApiTable& table) {
  table.set(Slot::kSessionOptionsAppendExecutionProvider, append);
  table.set(Slot::kSessionOptionsAppendExecutionProviderCuda, append_plain_cuda);
  table.set(Slot::kSessionOptionsAppendExecutionProviderCudaV2, append_cuda);
  table.set(Slot::kCreateCudaProviderOptions, create_cuda);
  table.set(Slot::kUpdateCudaProviderOptions, update_cuda);
  table.set(Slot::kReleaseCudaProviderOptions, release_cuda);
}

}  // namespace gantry::ort

// Functions of their own that programs of before the table's call. The CPU is there in any case.
// NOLINTNEXTLINE(readability-identifier-naming): the name by which programs find it
GANTRY_ORT_EXPORT void* OrtSessionOptionsAppendExecutionProvider_CPU(void*, int) noexcept {
  return nullptr;
}
// NOLINTNEXTLINE(readability-identifier-naming): likewise
GANTRY_ORT_EXPORT void* OrtSessionOptionsAppendExecutionProvider_CUDA(void* options,
                                                                      int device_id) noexcept {
  using namespace gantry::ort;
  const PlainCudaOptions cuda{device_id};
  return append_plain_cuda(static_cast<SessionSettings*>(options), &cuda);
}
