// SPDX-License-Identifier: Apache-2.0
// Files of NumPy's .npy format. The first byte is the element type that the caller expects.
#include "base/npy.h"

#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  gantry::fuzz::run_or_refuse([&] {
    const auto expected = static_cast<gantry::DType>(data[0]);
    const gantry::ValueRef tensor =
        gantry::parse_npy(gantry::fuzz::bytes_of(data + 1, size - 1), expected);
    (void)gantry::to_npy(*tensor);
  });
  return 0;
}
