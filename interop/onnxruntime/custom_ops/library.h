// SPDX-License-Identifier: Apache-2.0
// Libraries of operators for ONNX Runtime: shared libraries that export RegisterCustomOps. A
// library stays open until the process ends. Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "custom_ops/custom_op.h"

namespace gantry::ort {

/// The table of functions that libraries get; lives as long as the process.
const ApiTable& api_table();

using DeclaredOps = std::vector<std::shared_ptr<const DeclaredOp>>;

/// The operators of a library for the CPU, in the order in which the library registers them. It is
/// asked each time: a library may have more later. sdk::Error: NOT_FOUND: it cannot be opened, or
/// is no such library; UNSUPPORTED: it needs a newer version of the API; INTERNAL: its own error.
DeclaredOps register_operators(const std::string& path);

}  // namespace gantry::ort
