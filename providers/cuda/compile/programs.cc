// SPDX-License-Identifier: Apache-2.0
#include "compile/programs.h"

#include "driver/device.h"

namespace gantry::cuda {

const Program& Programs::get(std::string source) {
  const sdk::MutexLock lock(mutex_);
  std::unique_ptr<Program>& program = programs_[source];
  if (!program) program = std::make_unique<Program>(Program{std::move(source)});
  return *program;
}

void LoadedPrograms::unload() {
  const sdk::MutexLock lock(mutex_);
  for (const auto& [program, loaded] : loaded_) {
    if (loaded.module) device_.driver.module_unload(loaded.module);
  }
  loaded_.clear();
}

void LoadedPrograms::prefetch(const Program& program) {
  queue_.ask(program, device_.info.capability);
}

FunctionHandle LoadedPrograms::find(const Program& program) {
  const sdk::MutexLock lock(mutex_);
  return loaded_[&program].function;
}

FunctionHandle LoadedPrograms::get(const Program& program) {
  if (FunctionHandle function = find(program)) return function;
  // The lock is not held, so that other threads can load kernels that are compiled already.
  const int capability = device_.info.capability;
  const std::shared_ptr<const std::string> code = queue_.code_of(program, capability);
  const sdk::MutexLock lock(mutex_);
  Loaded& loaded = loaded_[&program];
  if (loaded.function) return loaded.function;
  const Driver& driver = device_.driver;
  if (!loaded.module)
    device_.require(driver.module_load(&loaded.module, code->data()), "loading a kernel");
  device_.require(driver.module_function(&loaded.function, loaded.module, "kernel"),
                  "finding a kernel");
  queue_.forget(program, capability);
  return loaded.function;
}

}  // namespace gantry::cuda
