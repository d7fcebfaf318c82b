// SPDX-License-Identifier: Apache-2.0
// Models of a few nodes that providers fuse or connect by memory formats of their own, for
// comparison with the CPU provider on random elements. Pure functions over a table.
#pragma once

#include <string>
#include <vector>

#include "model_writer.h"

namespace gantry::checks {

struct ChainCase {
  std::string name;  ///< "Conv-Add-Relu"
  NodesModel model;
  std::vector<bool> is_positive;  ///< of each input: elements are in [0.5, 1.5)
  std::vector<bool> is_constant;  ///< of each input: it is a constant of the model
};

std::vector<ChainCase> chain_cases();

}  // namespace gantry::checks
