// SPDX-License-Identifier: Apache-2.0
// What the caller of a session changes in the model that is read; validate/change_model.h does it.
#pragma once

#include <gantry/tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gantry {

struct ModelChanges {
  /// Extents by the name of a dimension of an input ("batch"), or by its denotation.
  std::map<std::string, int64_t> dimensions = {};
  /// Values in place of the main graph's initializers of these names.
  std::map<std::string, Value> initializers = {};
  /// The outputs, in this order: values of the main graph. Empty: those of the model.
  std::vector<std::string> outputs = {};
};

}  // namespace gantry
