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

void ConvPlan::add_operands(const Fusion& fusion, const ConvSlots& slots, bool takes_any) {
  if (is_empty) return;
  const auto last = [](const Dims& dims, const Port& port) {
    return desc_of(dims, true, port.type());
  };
  const Desc given = desc_of(input, slots.source_is_formatted, fusion.sources[0].type());
  source = Operand::input(given, takes_any ? given : last(input, fusion.sources[0]));
  target = Operand::output(desc_of(output, slots.target_is_formatted, fusion.target.type()),
                           last(output, fusion.target));
  if (slots.addend < 0) return;
  addend = Operand::input(desc_of(output, slots.addend_is_formatted, fusion.addend.type()),
                          last(output, fusion.addend));
}

}  // namespace gantry::x86
