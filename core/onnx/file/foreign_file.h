// SPDX-License-Identifier: Apache-2.0
// What people give as a model by mistake. A pure function.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace gantry {

/// What bytes that are no ONNX model are, by how they begin, and what to do about it: "a Git LFS
/// pointer, ..."; empty if that is not known.
std::string foreign_format(std::span<const std::byte> bytes);

}  // namespace gantry
