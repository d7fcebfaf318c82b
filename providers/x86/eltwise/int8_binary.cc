// SPDX-License-Identifier: Apache-2.0
// Add, Sub, Sum and Mul (ai.onnx) of two int8 tensors, one of which may have any broadcast to the
// other (residuals, gates by channel, biases, scales), with Relu and Clip as the epilogue.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "eltwise/int8_binary_code.h"
#include "eltwise/int8_tensor.h"

namespace gantry::x86 {
namespace {

constexpr size_t kMostInt8Axes = 8;

/// Clamped to finite values, so that 0 times the factor stays 0. An attention mask may have the
/// largest float as its scale.
float factor_of(double ratio) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(ratio, -kMost, kMost));
}

Int8Binary pair_of(const sdk::NodeView& node, const Fusion& fusion, bool is_swapped) {
  const Quantization& first = *fusion.sources[is_swapped ? 1 : 0].quantization;
  const Quantization& second = *fusion.sources[is_swapped ? 0 : 1].quantization;
  const Quantization& target = *fusion.target.quantization;
  Int8Binary pair;
  pair.multiplies = node.op_type() == "Mul";
  pair.first = first;
  pair.second = second;
  pair.target = target;
  if (pair.multiplies) {
    pair.first_factor =
        factor_of(double{first.scale} * double{second.scale} / double{target.scale});
  } else {
    pair.first_factor = factor_of(double{first.scale} / double{target.scale});
    pair.second_factor = factor_of(double{second.scale} / double{target.scale});
    if (node.op_type() == "Sub") (is_swapped ? pair.first_factor : pair.second_factor) *= -1;
  }
  const Int8Bounds bounds = *int8_bounds_of(fusion.epilogue);
  pair.lowest = bounds.lowest / target.scale;
  pair.highest = bounds.highest / target.scale;
  return pair;
}

/// Strides of the broadcast operand along the result's axes in memory order, innermost first, with
/// neighbouring axes merged where possible.
struct Walk {
  size_t axes = 0;
  std::array<int64_t, kMostInt8Axes> extents{};
  std::array<int64_t, kMostInt8Axes> steps{};

  void add(int64_t extent, int64_t step) {
    if (extent == 1) return;
    if (axes > 0 && step == steps[axes - 1] * extents[axes - 1]) {
      extents[axes - 1] *= extent;
      return;
    }
    extents[axes] = extent;
    steps[axes++] = step;
  }
  /// Offset of the operand for run `run`; a run is the innermost axis.
  [[nodiscard]] int64_t offset(int64_t run) const {
    int64_t offset = 0;
    for (size_t axis = 1; axis < axes; ++axis) {
      offset += run % extents[axis] * steps[axis];
      run /= extents[axis];
    }
    return offset;
  }
};

class Int8BinaryKernel final : public sdk::Kernel {
 public:
  /// `is_swapped`: the first operand is the one that is broadcast.
  Int8BinaryKernel(const KernelArgs& args, bool is_swapped)
      : pair_(pair_of(args.index.node(args.fusion.root), args.fusion, is_swapped)),
        label_(args.index.node(args.fusion.root).label()),
        output_slot_(static_cast<int>(args.output_slot())),
        is_target_formatted_(args.is_output_formatted(args.output_slot())) {
    for (size_t i = 0; i < sources_.size(); ++i)
      sources_[i] = Int8Source(args, args.fusion.sources[is_swapped ? 1 - i : i].value);
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape shape = call.shape(sources_[0].slot);
    const sdk::Shape other = call.shape(sources_[1].slot);
    check(shape, other);
    gantry_tensor& target = call.output(output_slot_, dtype_of(pair_.target.type), shape);
    const int64_t count = shape.element_count();
    if (count == 0) return;
    const uint8_t* whole = sources_[0].in_order(call, is_target_formatted_);
    const bool is_whole = shape == other;
    const uint8_t* second = is_whole
                                ? sources_[1].in_order(call, is_target_formatted_)
                                : static_cast<const uint8_t*>(call.input(sources_[1].slot).data);
    const Walk walk =
        walk_of(shape, other, is_whole ? is_target_formatted_ : sources_[1].is_formatted);
    auto* const to = static_cast<uint8_t*>(target.data);
    if (walk.axes < 2) {  // one run
      const bool is_single = walk.axes == 0 || walk.steps[0] == 0;
      call.parallel_for(count, kInt8Grain, [&](int64_t begin, int64_t end) {
        if (is_single) {
          pair_all(pair_, whole + begin, *second, to + begin, end - begin);
        } else {
          pair_each(pair_, whole + begin, second + begin, to + begin, end - begin);
        }
      });
      return;
    }
    const int64_t length = walk.extents[0];
    call.parallel_for(count / length, 1 + kInt8Grain / length, [&](int64_t begin, int64_t end) {
      for (int64_t run = begin; run < end; ++run)
        make(walk, whole + run * length, second + walk.offset(run), to + run * length);
    });
  }

 private:
  void make(const Walk& walk, const uint8_t* whole, const uint8_t* second, uint8_t* to) const {
    const int64_t length = walk.extents[0];
    const int64_t step = walk.steps[0];
    if (step == 1) return pair_each(pair_, whole, second, to, length);
    if (step == 0) return pair_all(pair_, whole, *second, to, length);
    for (int64_t i = 0; i < length; ++i) pair_all(pair_, whole + i, second[i * step], to + i, 1);
  }

  void check(const sdk::Shape& shape, const sdk::Shape& other) const {
    bool fits = other.rank <= shape.rank && static_cast<size_t>(shape.rank) <= kMostInt8Axes;
    for (int i = 1; fits && i <= other.rank; ++i) {
      const int64_t extent = other[other.rank - i];
      fits = extent == 1 || extent == shape[shape.rank - i];
    }
    if (fits) return;
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     label_ +
                         ": one of its operands was expected to be broadcast to the other, as "
                         "the model's shapes say, and is not");
  }

  /// Calls body(axis) in memory order, innermost first.
  static void for_each_axis(int rank, bool is_formatted, const auto& body) {
    if (is_formatted) body(1);
    for (int axis = rank - 1; axis >= (is_formatted ? 2 : 0); --axis) body(axis);
    if (is_formatted) body(0);
  }

  [[nodiscard]] Walk walk_of(const sdk::Shape& shape, const sdk::Shape& other,
                             bool is_formatted) const {
    std::array<int64_t, kMostInt8Axes> steps{};  // by axis of the result
    int64_t step = 1;
    for_each_axis(other.rank, is_formatted, [&](int axis) {
      const auto own = static_cast<size_t>(axis + shape.rank - other.rank);
      steps[own] = other[axis] == 1 ? 0 : step;
      step *= other[axis];
    });
    Walk walk;
    for_each_axis(shape.rank, is_target_formatted_,
                  [&](int axis) { walk.add(shape[axis], steps[static_cast<size_t>(axis)]); });
    return walk;
  }

  Int8Binary pair_;
  std::string label_;
  int output_slot_;
  bool is_target_formatted_;
  std::array<Int8Source, 2> sources_;
};

bool has_shape_of_result(const GraphIndex& index, uint32_t node, uint32_t input) {
  return sdk::has_equal_extents(index, index.raw(node).inputs[input], index.raw(node).outputs[0]);
}

}  // namespace

std::string int8_binary_refusal(const GraphIndex& index, const Fusion& fusion) {
  const sdk::NodeView view = index.node(fusion.root);
  const std::string_view op = view.op_type();
  const bool is_known =
      ((op == "Add" || op == "Sub" || op == "Mul") && view.since_version() >= 7) ||
      (op == "Sum" && view.since_version() >= 8);
  if (!is_known || view.input_count() != 2) return "no kernel for this operator in int8";
  if (view.output(0).rank() > static_cast<int>(kMostInt8Axes)) return "it has more than 8 axes";
  if (!has_shape_of_result(index, fusion.root, 0) && !has_shape_of_result(index, fusion.root, 1))
    return "none of its operands is known to have the shape of the result";
  return int8_bounds_of(fusion.epilogue) ? "" : "a function behind it that is no bound, in int8";
}

Made make_int8_binary(const KernelArgs& args) {
  return made<Int8BinaryKernel>(args, !has_shape_of_result(args.index, args.fusion.root, 0));
}

}  // namespace gantry::x86
