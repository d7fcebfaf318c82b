// SPDX-License-Identifier: Apache-2.0
#include <gantry/sdk/error.h>

#include <dlfcn.h>
#include <filesystem>
#include <string>

#include "media/media.h"

namespace gantry::cpu {
namespace {

std::string library_beside_this_one() {
  Dl_info info = {};
  const auto* here = reinterpret_cast<const void*>(&media);
  const bool is_known = dladdr(here, &info) != 0 && info.dli_fname;
  const std::filesystem::path own = is_known ? info.dli_fname : "";
  return own.parent_path() / "libgantry_cpu_media.so";
}

const Media& open_media() {
  const std::string file = library_beside_this_one();
  // Never closed: Expression objects and statics of its libraries must stay valid.
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    throw sdk::Error(GANTRY_UNAVAILABLE,
                     "texts and images: expected the library " + file + ", which is a part of " +
                         "the provider, and found: " + (reason ? reason : "no reason") +
                         "; install it, or what it is linked with");
  }
  const auto table =
      reinterpret_cast<decltype(&gantry_cpu_media)>(dlsym(library, "gantry_cpu_media"));
  if (!table) {
    throw sdk::Error(GANTRY_UNAVAILABLE, "texts and images: expected " + file +
                                             " to export gantry_cpu_media, found no such symbol; "
                                             "install the one that belongs to this provider");
  }
  return *table();
}

}  // namespace

const Media& media() {
  static const Media& table = open_media();
  return table;
}

}  // namespace gantry::cpu
