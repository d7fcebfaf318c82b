// SPDX-License-Identifier: Apache-2.0
#include "compile/nvrtc_compiler.h"

#include <gantry/sdk/error.h>

#include <algorithm>

#include "compile/code_cache.h"

namespace gantry::cuda {
namespace {

constexpr int kOldestMajor = 12;

}  // namespace

Compiler::Compiler(const LibrarySearch& search, int driver_version, std::string cache_folder)
    : cache_folder_(std::move(cache_folder)), reason_(load(search, driver_version)) {}

std::string Compiler::load(const LibrarySearch& search, int driver_version) {
  std::vector<std::string> names;
  for (int major = std::max(driver_version / 1000, kOldestMajor); major >= kOldestMajor; --major)
    names.push_back("libnvrtc.so." + std::to_string(major));
  const SharedLibrary library = search.open(names);
  if (!library.is_open()) {
    return "NVIDIA's run-time compiler " + names.front() + (names.size() > 1 ? " or older" : "") +
           " cannot be opened: " + library.reason();
  }
  const std::string is_another =
      library.path() + " is not the run-time compiler that is expected under this name: it ";
  if (const char* missing = functions_.find_in(library))
    return is_another + "has no function " + missing;
  int major = 0;
  int minor = 0;
  int count = 0;
  if (functions_.version(&major, &minor) != 0 || functions_.architecture_count(&count) != 0 ||
      count <= 0)
    return is_another + "reports neither its version nor the architectures that it supports";
  version_ = std::to_string(major) + "." + std::to_string(minor);
  // NVRTC opens this library by its bare name on the first compilation.
  search.open_beside(library, "libnvrtc-builtins.so." + version_);
  architectures_.resize(static_cast<size_t>(count));
  if (functions_.architectures(architectures_.data()) != 0)
    return library.path() + " does not report the architectures that it supports";
  return {};
}

std::string Compiler::architecture_option(int capability) const {
  const auto after = std::upper_bound(architectures_.begin(), architectures_.end(), capability);
  if (after == architectures_.begin()) {
    throw sdk::Error(GANTRY_UNAVAILABLE,
                     "NVRTC " + version_ + " makes no code for compute capability " +
                         std::to_string(capability / 10) + "." + std::to_string(capability % 10) +
                         "; install one that does");
  }
  const int known = *(after - 1);
  // A cubin runs on a newer minor version of its architecture; only PTX runs on a newer major one.
  return std::string(known == capability ? "-arch=sm_" : "-arch=compute_") + std::to_string(known);
}

std::string Compiler::compile(const std::string& source, int capability) const {
  if (!is_usable()) throw sdk::Error(GANTRY_UNAVAILABLE, "CUDA: " + reason_);
  const std::vector<std::string> options = {architecture_option(capability), "-std=c++17",
                                            "-default-device"};
  std::string name = "gantry-1|nvrtc " + version_;
  for (const std::string& option : options) name += "|" + option;
  const CodeCache cache(cache_folder_);
  const std::string key = CodeCache::key_of(name + "|" + source);
  std::string code;
  if (cache.load(key, code)) return code;
  code = run(source, options);
  cache.store(key, code);
  return code;
}

std::string Compiler::text_of(void* program, int (*size)(void*, size_t*),
                              int (*get)(void*, char*)) const {
  size_t length = 0;
  if (size(program, &length) != 0 || length == 0) return {};
  std::string text(length, '\0');
  if (get(program, text.data()) != 0) return {};
  return text;
}

std::string Compiler::run(const std::string& source,
                          const std::vector<std::string>& options) const {
  std::vector<const char*> arguments;
  arguments.reserve(options.size());
  for (const std::string& option : options) arguments.push_back(option.c_str());
  void* program = nullptr;
  int result = functions_.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  std::string code;
  std::string log;
  if (result == 0) {
    result = functions_.compile(program, static_cast<int>(arguments.size()), arguments.data());
    if (result != 0) {
      log = text_of(program, functions_.log_size, functions_.log);
    } else {
      code = text_of(program, functions_.code_size, functions_.code);
      if (code.empty()) code = text_of(program, functions_.ptx_size, functions_.ptx);
    }
    functions_.destroy(&program);
  }
  if (result != 0 || code.empty()) {
    throw sdk::Error(GANTRY_INTERNAL, std::string("a kernel could not be compiled by NVRTC ") +
                                          version_ + ": " + functions_.error_string(result) + ": " +
                                          log);
  }
  return code;
}

}  // namespace gantry::cuda
