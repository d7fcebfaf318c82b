// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <nlohmann/json.hpp>

namespace gantry_openvino {

Options Options::with(std::string_view json) const {
  Options options = *this;
  if (json.empty()) return options;
  const auto given = nlohmann::json::parse(json);
  options.library = given.value("library", options.library);
  options.num_threads = given.value("num_threads", options.num_threads);
  options.precision = given.value("precision", options.precision);
  if (given.contains("int64")) options.narrow_int64 = given["int64"] == "narrow";
  options.shapes = given.value("shapes", options.shapes);
  options.cache_dir = given.value("cache_dir", options.cache_dir);
  return options;
}

}  // namespace gantry_openvino
