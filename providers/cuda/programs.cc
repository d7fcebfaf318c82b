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
  for (const auto& [program, loaded] : loaded_) device_.driver.module_unload(loaded.module);
}

FunctionHandle LoadedPrograms::get(const Program& program) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Loaded& loaded = loaded_[&program];
  if (loaded.function) return loaded.function;
  const std::string code = compiler_.compile(program.source, device_.facts.capability);
  const Driver& driver = device_.driver;
  if (!loaded.module)
    device_.require(driver.module_load(&loaded.module, code.data()), "loading a kernel");
  device_.require(driver.module_function(&loaded.function, loaded.module, "kernel"),
                  "finding a kernel");
  return loaded.function;
}

}  // namespace gantry::cuda
