// SPDX-License-Identifier: Apache-2.0
#include "conv/conv_run.h"

#include <algorithm>

namespace gantry::x86 {

ConvPlan::ConvPlan(const ConvShape& shape, const sdk::Shape& given)
    : input(given.data, given.data + given.rank),
      placed(shape.window.place({input.begin() + 2, input.end()})) {
  output = shape.output_of(input, placed);
  for (int64_t& extent : output) extent = std::max<int64_t>(extent, 0);
  is_empty = std::count(output.begin(), output.end(), 0) > 0;
}

}  // namespace gantry::x86
