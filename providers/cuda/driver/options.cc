// SPDX-License-Identifier: Apache-2.0
#include "driver/options.h"

#include <gantry/sdk/error.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace gantry::cuda {
namespace {

// The user's cache folder, by the XDG base directory specification.
std::string default_cache() {
  const char* cache = secure_getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/') return std::string(cache) + "/gantry/cuda";
  const char* home = secure_getenv("HOME");
  if (home && *home == '/') return std::string(home) + "/.cache/gantry/cuda";
  return {};
}

}  // namespace

Options::Options(gantry_str text) {
  const nlohmann::json given =
      nlohmann::json::parse(text.length > 0 ? sdk::to_view(text) : std::string_view("{}"));
  libraries = given.value("libraries", libraries);
  pool_bytes = given.value("pool_bytes", pool_bytes);
  capture = given.value("capture", capture);
  overlap = given.value("overlap", overlap);
  tf32 = given.value("precision", "f32") == "tf32";
  own_kernels = given.value("own_kernels", own_kernels);
  cache = given.contains("cache") ? given.value("cache", cache) : default_cache();
  if (cache == "off") cache.clear();
}

}  // namespace gantry::cuda
