// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace gantry::x86 {

Options::Options(gantry_str text) {
  const nlohmann::json given =
      nlohmann::json::parse(text.length > 0 ? sdk::to_view(text) : std::string_view("{}"));
  const std::string asked = given.value("winograd", "auto");
  is_bf16 = given.value("precision", "f32") == "bf16";
  if (asked == "off") winograd = Winograd::kOff;
  if (asked == "2x2") winograd = Winograd::k2;
  if (asked == "4x4") winograd = Winograd::k4;
  skipped = given.value("skip_implementations", skipped);
}

bool Options::skips(std::string_view implementation) const {
  return std::find(skipped.begin(), skipped.end(), implementation) != skipped.end();
}

}  // namespace gantry::x86
