// SPDX-License-Identifier: Apache-2.0
// Kinds of a node's attributes. Plain data.
#pragma once

namespace gantry::ort {

/// OrtOpAttrType.
enum class AttributeKind : int {
  kUndefined = 0,
  kInt = 1,
  kInts = 2,
  kFloat = 3,
  kFloats = 4,
  kString = 5,
  kStrings = 6,
  kGraph = 7,
  kTensor = 8,
};

}  // namespace gantry::ort
