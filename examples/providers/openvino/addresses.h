// SPDX-License-Identifier: Apache-2.0
// Weights by reference: the host's model names its large constants "gantry:N"; OpenVINO's reader
// takes them from memory if the model says at which address. Pure functions.
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

/// The serialized ModelProto with an address in place of each "gantry:N". INVALID_MODEL: it is no
/// message, or cut short.
std::string with_addresses(std::string_view model,
                           const std::function<Weight(uint64_t number)>& weight);

}  // namespace gantry_openvino
