// SPDX-License-Identifier: Apache-2.0
#include "pool/operands.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "fuse/families.h"
#include "onednn/threads.h"
#include "simd/axis_order.h"

namespace gantry::x86 {
namespace {

// True if a reduction is over exactly the spatial axes. Axes are an attribute before version 18,
// then an input.
bool is_over_plane(const sdk::NodeView& node, int rank) {
  std::vector<int64_t> axes = node.get_ints("axes");
  if (node.since_version() >= 18) {
    const gantry_tensor* constant = node.input(1).constant();
    if (!constant || constant->dtype != GANTRY_INT64) return false;
    axes.resize(static_cast<size_t>(sdk::Shape(*constant).element_count()));
    // An empty tensor may have a null address.
    if (!axes.empty()) std::memcpy(axes.data(), constant->data, axes.size() * sizeof(int64_t));
  }
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  std::vector<int64_t> plane;
  for (int64_t axis = 2; axis < rank; ++axis) plane.push_back(axis);
  return axes == plane;
}

}  // namespace

PoolShape::PoolShape(const GraphIndex& index, const Fusion& fusion) {
  fault = read(index.node(fusion.root));
  if (fault.empty() && fusion.is_quantized()) fault = check_quantized(fusion);
}

std::string PoolShape::check_quantized(const Fusion& fusion) const {
  if (!fusion.target.quantization) return "the result is not quantized";
  if (fusion.sources[0].type() != fusion.target.type()) return "the result is of another type";
  if (algorithm == dnnl::algorithm::pooling_avg_include_padding)
    return "padding that counts, in int8";
  if (algorithm == dnnl::algorithm::pooling_max &&
      fusion.sources[0].quantization != fusion.target.quantization)
    return "the quantization of the result is another than that of the input";
  return {};
}

std::string PoolShape::read(const sdk::NodeView& node) {
  const std::string_view op = node.op_type();
  const int rank = node.input(0).rank();
  const Type type = type_of(node.input(0).dtype());
  if (type == Type::undef) return "only float32 and int8 or uint8 are taken";
  if (rank < 3 || rank > 5) return "only inputs of rank 3 to 5 are taken";
  if (node.output(1).present()) return "indices are not made";
  const bool reduces = is_reduction(op);
  if (reduces) {
    if (type != Type::f32) return "only float32 is taken";
    if (!is_over_plane(node, rank)) return "it is over other axes than all behind the channels";
    keeps_axes = node.get_int("keepdims", 1) == 1;
  }
  is_global = reduces || op.rfind("Global", 0) == 0;
  const bool is_average = op == "ReduceMean" || op == "AveragePool" || op == "GlobalAveragePool";
  const bool counts_padding = node.get_int("count_include_pad", 0) != 0;
  if (is_average) {
    algorithm = counts_padding ? dnnl::algorithm::pooling_avg_include_padding
                               : dnnl::algorithm::pooling_avg_exclude_padding;
  }
  if (is_global) return {};
  if (std::string fault = window.read(node, static_cast<size_t>(rank) - 2); !fault.empty())
    return fault;
  // With ceil_mode a window may reach beyond the padding; oneDNN counts that as padding, ONNX does
  // not.
  if (counts_padding && window.rounds_up) return "ceil_mode and count_include_pad together";
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t extent = window.dilations[i] * (window.kernel[i] - 1) + 1;
    if (window.pads_begin[i] >= extent || window.pads_end[i] >= extent)
      return "the padding is as large as the window";
  }
  return {};
}

PoolOperands::PoolOperands(const KernelArgs& args)
    : shape(args.index, args.fusion),
      fusion(args.fusion),
      label(args.index.node(args.fusion.root).label()),
      source_slot(args.slot_of(fusion.sources[0].value)),
      target_slot(args.output_slot()),
      is_source_formatted(args.is_input_formatted(source_slot)),
      is_target_formatted(args.is_output_formatted(target_slot)),
      source_type(type_of(args.index.graph().values[fusion.sources[0].value]->dtype)),
      target_type(type_of(args.index.graph().values[fusion.target.value]->dtype)) {
  const sdk::ValueView source = args.index.value(fusion.sources[0].value);
  for (int i = 0; i < source.rank(); ++i) known_input.push_back(source.extent(i));
  has_dynamic_size = *std::min_element(known_input.begin() + 2, known_input.end()) < 0;
  if (*std::min_element(known_input.begin(), known_input.end()) < 1) known_input.clear();
}

PoolOperands::Placed PoolOperands::place(const Dims& input) const {
  const Dims spatial(input.begin() + 2, input.end());
  if (*std::min_element(spatial.begin(), spatial.end()) == 0) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     label +
                         ": the input has a spatial extent of 0, over which there is nothing to "
                         "pool");
  }
  Placed placed;
  placed.input = input;
  placed.window = shape.window;
  if (shape.is_global) {
    placed.window.kernel = spatial;
    placed.window.strides = placed.window.dilations = Dims(spatial.size(), 1);
    placed.window.pads_begin = placed.window.pads_end = Dims(spatial.size(), 0);
  }
  placed.at = placed.window.place(spatial);
  placed.output = {input[0], input[1]};
  for (const int64_t extent : placed.at.output)
    placed.output.push_back(std::max<int64_t>(extent, 0));
  placed.is_empty = *std::min_element(placed.output.begin(), placed.output.end()) == 0;
  return placed;
}

void* PoolOperands::target_of(sdk::Call& call, const Placed& placed) const {
  const int rank = shape.keeps_axes ? static_cast<int>(placed.output.size()) : 2;
  return call
      .output(static_cast<int>(target_slot), dtype_of(target_type), {placed.output.data(), rank})
      .data;
}

PoolLoops PoolOperands::loops_of(const Placed& placed) const {
  PoolLoops loops;
  loops.input = placed.input;
  loops.output = placed.output;
  loops.window = placed.window;
  loops.pads_begin = placed.at.pads_begin;
  loops.is_max = is_max();
  loops.counts_padding = shape.algorithm == dnnl::algorithm::pooling_avg_include_padding;
  if (!fusion.is_quantized()) return loops;
  const Quantization& from = *fusion.sources[0].quantization;
  const Quantization& to = *fusion.target.quantization;
  loops.shift = -static_cast<float>(from.zero_point);
  loops.factor = from.scale / to.scale;
  loops.zero_point = static_cast<float>(to.zero_point);
  return loops;
}

void PoolOperands::run_loops(sdk::Call& call, const PoolLoops& loops, const void* source,
                             void* target) const {
  constexpr int64_t kGrainElements = 1 << 16;  // elements read that justify a thread
  int64_t read = loops.input[1];               // for each position
  for (const int64_t extent : loops.window.kernel) read *= extent;
  const int64_t parts = loops.parts_of_position();
  const int64_t grain = std::max<int64_t>(1, kGrainElements * parts / std::max<int64_t>(read, 1));
  const sdk::Shape input(loops.input.data(), static_cast<int>(loops.input.size()));
  const sdk::Shape output(loops.output.data(), static_cast<int>(loops.output.size()));
  const size_t bytes = dnnl::memory::data_type_size(source_type);  // of the result's too
  const void* from = in_order(call, source, input, axis_order(is_source_formatted),
                              AxisOrder::kChannelsLast, bytes);
  const ChannelsLastResult to(call, target, output, axis_order(is_target_formatted), bytes);
  const auto run_as = [&](auto zero) {
    using T = decltype(zero);
    call.parallel_for(loops.positions() * parts, grain, [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      pool(loops, static_cast<const T*>(from), static_cast<T*>(to.data()), begin, end);
    });
  };
  if (source_type == Type::f32) {
    run_as(float{});
  } else if (source_type == Type::u8) {
    run_as(uint8_t{});
  } else {
    run_as(int8_t{});
  }
  to.finish(call);
}

}  // namespace gantry::x86
