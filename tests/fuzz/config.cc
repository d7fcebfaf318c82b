// SPDX-License-Identifier: Apache-2.0
// Configurations: two documents, separated by a byte 0, merged and checked.
#include "session/config/config.h"

#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = gantry::fuzz::text_of(data, size);
  const size_t end = std::min(text.find('\0'), text.size());
  gantry::fuzz::run_or_refuse([&] {
    (void)gantry::Config::parse({{"runtime", text.substr(0, end)},
                                 {"session", end < text.size() ? text.substr(end + 1) : ""}});
  });
  return 0;
}
