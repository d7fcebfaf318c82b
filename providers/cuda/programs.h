// SPDX-License-Identifier: Apache-2.0
// Kernels as source, each once for a process, and their code on each device. Any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "compile_queue.h"
#include "driver.h"

namespace gantry::cuda {

class Device;

/// The source of one kernel, whose name is `kernel` and whose only parameter is a struct.
struct Program {
  std::string source;
};

/// All sources that were asked for. Addresses stay.
class Programs {
 public:
  const Program& get(std::string source);

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Program>> programs_;  // by source
};

/// Programs loaded on one device.
class LoadedPrograms {
 public:
  LoadedPrograms(const Device& device, CompileQueue& queue) : device_(device), queue_(queue) {}
  ~LoadedPrograms();
  LoadedPrograms(const LoadedPrograms&) = delete;
  LoadedPrograms& operator=(const LoadedPrograms&) = delete;

  /// Lets a kernel that will be asked for be compiled meanwhile.
  void foresee(const Program& program);
  /// The kernel, compiled and loaded when it is first asked for. Requires the device's context to
  /// be the thread's. UNAVAILABLE, INTERNAL, DEVICE_ERROR, OUT_OF_MEMORY.
  FunctionHandle get(const Program& program);

 private:
  FunctionHandle find(const Program& program);

  struct Loaded {
    ModuleHandle module = nullptr;
    FunctionHandle function = nullptr;
  };

  const Device& device_;
  CompileQueue& queue_;
  std::mutex mutex_;
  std::map<const Program*, Loaded> loaded_;
};

}  // namespace gantry::cuda
