// SPDX-License-Identifier: Apache-2.0
#include "matmul/integer_operands.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>

#include "fuse/constants.h"
#include "matmul/operands.h"

namespace gantry::x86 {
namespace {

constexpr size_t kMostAxes = 8;

int64_t element_count_of(const sdk::ValueView& value) {
  int64_t count = 1;
  for (int i = 0; i < value.rank(); ++i) count *= value.extent(i);
  return count;
}

}  // namespace

IntegerOperands::IntegerOperands(const KernelArgs& args)
    : fusion(args.fusion),
      label(args.index.node(fusion.root).label()),
      source_type(type_of(args.index.value(fusion.sources[0].value).dtype())),
      bias(fusion.epilogue.shift),
      source_slot_(static_cast<int>(args.slot_of(fusion.sources[0].value))),
      output_slot_(static_cast<int>(args.output_slot())) {
  const GraphIndex& index = args.index;
  const sdk::ValueView right = index.value(fusion.weights);
  matrix = right.constant()->data;
  inner = right.extent(0);
  columns = right.extent(1);
  known_rows = known_rows_of(index.value(fusion.sources[0].value));
  if (std::all_of(bias.begin(), bias.end(), [](float x) { return x == 0; })) bias.clear();
  if (fusion.scale != GANTRY_NONE) {
    const sdk::ValueView factor = index.value(fusion.scale);
    scale_count = element_count_of(factor);
    if (factor.is_constant()) {
      scale = floats_of(factor);
    } else {
      scale_slot = static_cast<int>(args.slot_of(fusion.scale));
    }
  }
  if (fusion.zero_point != GANTRY_NONE) {
    const sdk::ValueView zero = index.value(fusion.zero_point);
    if (zero.is_constant()) {
      zero_point = number_at(zero.constant()->data);
    } else {
      zero_slot = static_cast<int>(args.slot_of(fusion.zero_point));
    }
  }
}

IntegerOperands::Tensors IntegerOperands::of(sdk::Call& call) const {
  const sdk::Shape input = call.shape(source_slot_);
  if (input.rank < 2 || input.rank > static_cast<int>(kMostAxes) ||
      input[input.rank - 1] != inner) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     label + ": the last extent of input 0 was expected to be " +
                         std::to_string(inner) + ", that of the rows of input 1");
  }
  std::array<int64_t, kMostAxes> extents{};
  std::copy(input.data, input.data + input.rank, extents.begin());
  extents[static_cast<size_t>(input.rank) - 1] = columns;
  gantry_tensor& target = call.output(output_slot_, is_float() ? GANTRY_FLOAT : GANTRY_INT32,
                                      {extents.data(), input.rank});
  return {input.count(0, input.rank - 1), call.input(source_slot_).data, target.data};
}

const float* IntegerOperands::scales_of(const sdk::Call& call) const {
  if (scale_slot < 0) return scale.data();
  if (call.shape(scale_slot).element_count() != scale_count) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     label + ": the scale behind it has another shape than the model says");
  }
  return call.data<float>(scale_slot);
}

int32_t IntegerOperands::zero_point_of(const sdk::Call& call) const {
  return zero_slot < 0 ? zero_point : number_at(call.input(zero_slot).data);
}

int32_t IntegerOperands::number_at(const void* data) const {
  return source_type == Type::u8 ? int32_t{*static_cast<const uint8_t*>(data)}
                                 : int32_t{*static_cast<const int8_t*>(data)};
}

}  // namespace gantry::x86
