// SPDX-License-Identifier: Apache-2.0
// The types of a graph's values, by name: what a walk over the graph's nodes looks up.
#pragma once

#include <string>
#include <unordered_map>

#include "onnx/messages/proto.h"

namespace gantry {

/// Of the values that have a type. The types are borrowed.
using ValueTypes = std::unordered_map<std::string, const onnx::TypeProto*>;

}  // namespace gantry
