// SPDX-License-Identifier: Apache-2.0
// Weights without a copy: the host's model refers to large constants by external location
// "gantry:N". OpenVINO's reader uses memory in place if the model gives its address instead. Pure
// functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gantry_openvino {

struct Weight {
  const void* data;
  uint64_t size_bytes;
};

/// The serialized ModelProto with an address in place of each "gantry:N". `weight(N)` returns the
/// constant's memory. Throws INVALID_MODEL if `model` is malformed or truncated.
std::string with_addresses(std::string_view model,
                           const std::function<Weight(uint64_t number)>& weight);

}  // namespace gantry_openvino
