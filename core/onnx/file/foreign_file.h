// SPDX-License-Identifier: Apache-2.0
// Recognises files that are passed as a model by mistake. A pure function.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace gantry {

/// Describes bytes that are no ONNX model by their beginning, with what to do: "a Git LFS pointer,
/// ..."; empty: unknown.
std::string foreign_format(std::span<const std::byte> bytes);

}  // namespace gantry
