// SPDX-License-Identifier: Apache-2.0
// Kernel sources, each stored once per process, and their code loaded on each device. Any thread.
#pragma once

#include <gantry/sdk/mutex.h>

#include <map>
#include <memory>
#include <string>

#include "compile/compile_queue.h"
#include "compile/program.h"
#include "driver/driver.h"

namespace gantry::cuda {

class Device;

/// Interns sources. References stay valid.
class Programs {
 public:
  const Program& get(std::string source);

 private:
  sdk::Mutex mutex_;
  std::map<std::string, std::unique_ptr<Program>> programs_ GANTRY_GUARDED_BY(mutex_);  // by source
};

/// The programs that are loaded on one device.
class LoadedPrograms {
 public:
  LoadedPrograms(const Device& device, CompileQueue& queue) : device_(device), queue_(queue) {}
  LoadedPrograms(const LoadedPrograms&) = delete;
  LoadedPrograms& operator=(const LoadedPrograms&) = delete;

  /// Starts compiling a kernel in the background.
  void prefetch(const Program& program);
  /// The kernel, compiled and loaded on first use. Requires the device's context to be the
  /// thread's. UNAVAILABLE, INTERNAL, DEVICE_ERROR, OUT_OF_MEMORY.
  FunctionHandle get(const Program& program);
  /// Unloads all of them, before the context ends. Requires it to be the thread's.
  void unload();

 private:
  FunctionHandle find(const Program& program);

  struct Loaded {
    ModuleHandle module = nullptr;
    FunctionHandle function = nullptr;
  };

  const Device& device_;
  CompileQueue& queue_;
  sdk::Mutex mutex_;
  std::map<const Program*, Loaded> loaded_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry::cuda
