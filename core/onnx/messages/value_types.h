// SPDX-License-Identifier: Apache-2.0
// The types of a graph's values, by name.
#pragma once

#include <string>
#include <unordered_map>

#include "onnx/messages/proto.h"

namespace gantry {

/// The types of the values that have one. Borrowed.
using ValueTypes = std::unordered_map<std::string, const onnx::TypeProto*>;

}  // namespace gantry
