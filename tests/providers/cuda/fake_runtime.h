// SPDX-License-Identifier: Apache-2.0
// A runtime whose provider cuda finds the fakes of NVIDIA's libraries: a copy of the provider, so
// that every test chooses its options, and the fakes' counters.
#pragma once

#include <gantry/gantry.h>

#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "fake/fake_driver.h"
#include "support/model_text.h"
#include "support/temp_folder.h"

namespace gantry::test {

class FakeRuntime {
 public:
  /// `machine`: what GANTRY_FAKE_CUDA says; `options`: of the provider, JSON; "libraries" and
  /// "cache" are filled in where they are not given.
  explicit FakeRuntime(const std::string& machine = "", const std::string& options = "{}")
      : machine_(machine),
        library_(folder_.copy(std::string(GANTRY_PROVIDERS) + "/libgantry_cuda.so",
                              "libgantry_cuda.so")),
        manifest_(folder_.copy(std::string(GANTRY_PROVIDERS) + "/cuda.json", "cuda.json")),
        runtime_({configuration(options)}) {}

  Runtime& operator*() { return runtime_; }
  Runtime* operator->() { return &runtime_; }

  Session session(const std::string& text, const std::string& config = "{}",
                  const std::string& device = "CUDA:0") {
    const std::string bytes = model_bytes(text);
    SessionOptions options;
    options.device = device;
    options.config_json = config;
    return {runtime_, {as_bytes(bytes), {}}, options};
  }

  static const FakeCounters& counters() {
    return *driver_function<const FakeCounters* (*)()>("gantry_fake_counters")();
  }

  /// Counters of the fake driver.
  template <class Function>
  static Function driver_function(const char* name) {
    const std::string path = std::string(GANTRY_FAKE_CUDA_FOLDER) + "/libcuda.so.1";
    void* library = dlopen(path.c_str(), RTLD_NOW);
    if (!library) throw std::runtime_error(dlerror());
    return reinterpret_cast<Function>(dlsym(library, name));
  }

  [[nodiscard]] std::string folder() const { return folder_.path(); }

 private:
  // Read by the fake when the provider initialises it.
  struct Machine {
    explicit Machine(const std::string& text) { setenv("GANTRY_FAKE_CUDA", text.c_str(), 1); }
  };

  [[nodiscard]] std::string configuration(const std::string& options) const {
    nlohmann::json cuda = nlohmann::json::parse(options);
    if (!cuda.contains("libraries")) cuda["libraries"] = {GANTRY_FAKE_CUDA_FOLDER};
    // Shared by all tests of this build, so that each kernel is compiled once.
    if (!cuda.contains("cache")) cuda["cache"] = GANTRY_FAKE_CUDA_CACHE;
    return nlohmann::json{
        {"providers", {{"search", {folder_.path()}}, {"options", {{"cuda", cuda}}}}}}
        .dump();
  }

  Machine machine_;
  TempFolder folder_;
  std::string library_;
  std::string manifest_;
  Runtime runtime_;
};

}  // namespace gantry::test
