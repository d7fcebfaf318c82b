// SPDX-License-Identifier: Apache-2.0
// Manifests of providers: the text of one, and a text of options checked by its schema.
#include "plugin/discovery/manifest.h"

#include <nlohmann/json.hpp>

#include "fuzz_target.h"

// The manifest, then (behind the first byte 0) options.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = gantry::fuzz::text_of(data, size);
  const size_t end = std::min(text.find('\0'), text.size());
  gantry::fuzz::run_or_refuse([&] {
    const gantry::Manifest manifest = gantry::parse_manifest(text.substr(0, end), "m.json");
    for (const gantry::Manifest& build : gantry::builds_of(manifest)) {
      if (build.name != manifest.name) std::abort();
    }
    const std::string options = end < text.size() ? text.substr(end + 1) : "{}";
    const auto parsed = nlohmann::json::parse(options, nullptr, false);
    if (!parsed.is_discarded()) (void)gantry::option_problems(manifest, parsed);
  });
  return 0;
}
