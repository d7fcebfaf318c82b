// SPDX-License-Identifier: Apache-2.0
// Device strings: what is taken is written back as a string that means the same device.
#include <gantry/device.h>

#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gantry::fuzz::run_or_refuse([&] {
    const auto device = gantry::Device::parse(gantry::fuzz::text_of(data, size));
    if (gantry::Device::parse(device.to_string()) != device) std::abort();
  });
  return 0;
}
