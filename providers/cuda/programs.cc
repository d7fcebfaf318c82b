// SPDX-License-Identifier: Apache-2.0
#include "programs.h"

#include "device.h"

namespace gantry::cuda {

const Program& Programs::get(std::string source) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<Program>& program = programs_[source];
  if (!program) program = std::make_unique<Program>(Program{std::move(source)});
  return *program;
}

LoadedPrograms::~LoadedPrograms() {
  for (const auto& [program, loaded] : loaded_) {
    if (loaded.module) device_.driver.module_unload(loaded.module);
  }
}

void LoadedPrograms::foresee(const Program& program) {
  queue_.ask(program, device_.facts.capability);
}

FunctionHandle LoadedPrograms::find(const Program& program) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return loaded_[&program].function;
}

FunctionHandle LoadedPrograms::get(const Program& program) {
  if (FunctionHandle function = find(program)) return function;
  // Others may load what is compiled already while this waits.
  const int capability = device_.facts.capability;
  const std::shared_ptr<const std::string> code = queue_.code_of(program, capability);
  const std::lock_guard<std::mutex> lock(mutex_);
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
