// SPDX-License-Identifier: Apache-2.0
// How a fake library enqueues its work on the fake driver's streams.
#pragma once

#include <dlfcn.h>
#include <memory>
#include <stdexcept>
#include <string>

namespace gantry::test {

using Enqueue = void (*)(void* stream, void (*work)(void*), std::shared_ptr<void>* argument);

inline void* find_in_driver(const char* name) {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&find_in_driver), &self) == 0)
    throw std::runtime_error("lost");
  std::string path = self.dli_fname;
  path = path.substr(0, path.rfind('/')) + "/libcuda.so.1";
  void* driver = dlopen(path.c_str(), RTLD_NOW);
  return dlsym(driver, name);
}

inline bool driver_has_ended() {
  return reinterpret_cast<int (*)()>(find_in_driver("gantry_fake_has_ended"))() != 0;
}

/// Enqueues `work`, which has a method run().
template <class Work>
void enqueue(void* stream, std::shared_ptr<Work> work) {
  static const auto give = reinterpret_cast<Enqueue>(find_in_driver("gantry_fake_enqueue"));
  std::shared_ptr<void> argument = std::move(work);
  give(
      stream, [](void* one) { static_cast<Work*>(one)->run(); }, &argument);
}

}  // namespace gantry::test
