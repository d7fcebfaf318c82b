// SPDX-License-Identifier: Apache-2.0
// Models of one operator each, for comparison with the CPU provider on random elements. Pure
// functions over a table.
#pragma once

#include <gantry/dtype.h>

#include <string>
#include <vector>

#include "model_writer.h"

namespace gantry::checks {

struct RandomCase {
  std::string name;  ///< "Relu/float16", "Conv.2/float32": the second row of Conv
  OneNodeModel model;
  /// of each input: elements are in [0.5, 1.5), where the operator is defined
  std::vector<bool> is_positive;
  std::vector<bool> is_constant;  ///< of each input: it is a constant of the model
};

/// Every row of the table with each of its element types.
std::vector<RandomCase> random_cases();

}  // namespace gantry::checks
