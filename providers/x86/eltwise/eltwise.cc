// SPDX-License-Identifier: Apache-2.0
// Element-wise f32 operators in this provider's own code: activations (oneDNN's do not propagate
// NaN); Add, Sub, Mul, Div, Max and Min of two tensors, each of which may be broadcast (oneDNN has
// only reference code for a broadcast first operand); and BatchNormalization with constant
// parameters. They are claimed only for channels-last inputs, so that tensors need no reorder.
// int8: int8_binary.cc and int8_batch_norm.cc.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <optional>

#include "eltwise/activation_code.h"
#include "eltwise/int8_tensor.h"
#include "eltwise/tiles.h"
#include "fuse/constants.h"
#include "onednn/post_ops.h"

namespace gantry::x86 {
namespace {

std::optional<Operation> arithmetic_of(const sdk::NodeView& node) {
  if (node.input_count() != 2 || node.since_version() < 7) return std::nullopt;
  const std::string_view op = node.op_type();
  if (op == "Add" || (op == "Sum" && node.since_version() >= 8)) return Operation::kAdd;
  if (op == "Sub") return Operation::kSub;
  if (op == "Mul") return Operation::kMul;
  if (op == "Div") return Operation::kDiv;
  if (op == "Max" && node.since_version() >= 8) return Operation::kMax;
  if (op == "Min" && node.since_version() >= 8) return Operation::kMin;
  return std::nullopt;
}

/// An operand: a tensor of the run, or constants, one for all elements or one for each channel.
struct Source {
  int slot = -1;  ///< -1: constant
  bool is_formatted = false;
  std::vector<float> constants;
};

/// Extents of a tensor by axis, of the result's rank.
constexpr int kMostRank = 5;
using Extents = std::array<int64_t, kMostRank>;

constexpr size_t kMostSources = 3;

class EltwiseKernel final : public sdk::Kernel {
 public:
  explicit EltwiseKernel(const KernelArgs& args)
      : fusion_(args.fusion),
        label_(args.index.node(fusion_.root).label()),
        output_slot_(args.output_slot()),
        is_target_formatted_(args.is_output_formatted(output_slot_)) {
    const sdk::NodeView node = args.index.node(fusion_.root);
    rank_ = node.input(0).rank();
    if (const auto activation = activation_of(node)) {
      take(args, 0);
      add_activation(*activation);
    } else if (node.op_type() == "BatchNormalization") {
      take(args, 0);
      normalize(node);
    } else {
      for (int i = 0; i < 2; ++i) take(args, i);
      rank_ = std::max(rank_, node.input(1).rank());
      add(*arithmetic_of(node), 0, 1);
    }
    for (const EpilogueStep& step : fusion_.epilogue.steps) add_activation(*step.activation);
  }

  void run(sdk::Call& call) const override {
    std::array<Extents, kMostSources> extents;
    Extents result;
    result.fill(1);
    for (size_t i = 0; i < sources_.size(); ++i) {
      extents[i] = extents_of(call, sources_[i]);
      broadcast(result, extents[i]);
    }
    const sdk::Shape shape(result.data(), rank_);
    gantry_tensor& target =
        call.output(static_cast<int>(output_slot_), dtype_of(fusion_.target.type()), shape);
    if (shape.element_count() == 0) return;
    std::array<TileOperand, kMostSources> operands;
    for (size_t i = 0; i < sources_.size(); ++i) {
      const Source& source = sources_[i];
      const sdk::Shape given(extents[i].data(), rank_);
      const void* data = source.constants.data();
      if (source.slot >= 0) {
        data = in_order(call, call.input(source.slot).data, given, axis_order(source.is_formatted),
                        AxisOrder::kChannelsLast, sizeof(float));
      }
      operands[i] = broadcast_operand(static_cast<const float*>(data), given,
                                      AxisOrder::kChannelsLast, shape, AxisOrder::kChannelsLast);
    }
    const ChannelsLastResult made(call, target.data, shape, axis_order(is_target_formatted_),
                                  sizeof(float));
    auto* const to = static_cast<float*>(made.data());
    run_tiles(call,
              {instructions_, operands.data(), sources_.size(), &to, 1, 0, shape.element_count()});
    made.finish(call);
  }

 private:
  void take(const KernelArgs& args, int position) {
    const sdk::ValueView value = args.index.node(fusion_.root).input(position);
    Source& source = sources_.emplace_back();
    if (value.is_constant()) {
      source.constants = floats_of(value);
      return;
    }
    const size_t slot = args.slot_of(args.index.raw(fusion_.root).inputs[position]);
    source.slot = static_cast<int>(slot);
    source.is_formatted = args.is_input_formatted(slot);
  }

  /// BatchNormalization as x * scale + shift.
  void normalize(const sdk::NodeView& node) {
    const Epilogue& epilogue = fusion_.epilogue;
    Scaling scaling = *normalization_of(node, element_count(node.input(1)));
    for (size_t i = 0; i < epilogue.scale.size(); ++i) {
      scaling.scale[i] *= epilogue.scale[i];
      scaling.shift[i] = scaling.shift[i] * epilogue.scale[i] + epilogue.shift[i];
    }
    sources_.push_back({-1, false, std::move(scaling.scale)});
    sources_.push_back({-1, false, std::move(scaling.shift)});
    add(Operation::kMul, 0, 1);
    add(Operation::kAdd, result(), 2);
  }

  /// The slot of the result, after those of the sources. Requires that all sources are added.
  [[nodiscard]] uint32_t result() const { return static_cast<uint32_t>(sources_.size()); }

  void add(Operation operation, uint32_t a, uint32_t b) {
    Instruction& instruction = instructions_.emplace_back();
    instruction.operation = operation;
    instruction.a = a;
    instruction.b = b;
    instruction.to = result();
  }

  void add_activation(const Activation& activation) {
    instructions_.push_back(
        instruction_of(activation, instructions_.empty() ? 0 : result(), result()));
  }

  /// Extents aligned to the result's rank, as NumPy broadcasts.
  [[nodiscard]] Extents extents_of(const sdk::Call& call, const Source& source) const {
    Extents extents;
    extents.fill(1);
    if (source.slot < 0) {
      extents[1] = static_cast<int64_t>(source.constants.size());
      return extents;
    }
    const sdk::Shape shape = call.shape(source.slot);
    if (shape.rank > rank_) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       label_ + ": an operand of rank " + std::to_string(rank_) +
                           " or less was expected, as the model says, and one has rank " +
                           std::to_string(shape.rank));
    }
    std::copy_n(shape.data, shape.rank, extents.begin() + rank_ - shape.rank);
    return extents;
  }

  void broadcast(Extents& to, const Extents& extents) const {
    for (size_t i = 0; i < to.size(); ++i) {
      if (to[i] != extents[i] && to[i] != 1 && extents[i] != 1) {
        throw sdk::Error(GANTRY_INVALID_ARGUMENT, label_ + ": extents " + std::to_string(to[i]) +
                                                      " and " + std::to_string(extents[i]) +
                                                      " on axis " + std::to_string(i) +
                                                      " do not broadcast");
      }
      if (to[i] == 1) to[i] = extents[i];
    }
  }

  Fusion fusion_;
  std::string label_;
  size_t output_slot_;
  bool is_target_formatted_;
  int rank_ = 0;                 // of the result
  std::vector<Source> sources_;  // in the operator's order
  std::vector<Instruction> instructions_;
};

}  // namespace

std::string eltwise_refusal(const GraphIndex& index, const Fusion& fusion) {
  const sdk::NodeView view = index.node(fusion.root);
  if (fusion.is_quantized()) {
    if (!fusion.target.quantization) return "the result is not quantized";
    return fusion.sources.size() == 1 ? int8_batch_norm_refusal(index, fusion)
                                      : int8_binary_refusal(index, fusion);
  }
  // A tensor of a rank below 3 has one order, and may be broadcast to a channels-last one.
  const auto check = [&](int i, bool is_broadcast = false) -> std::string {
    const sdk::ValueView value = view.input(i);
    if (value.dtype() != GANTRY_FLOAT) return "only float32 is taken";
    if (is_broadcast && value.rank() >= 0 && value.rank() < 3) return {};
    return value.rank() < 3 || value.rank() > 5 ? "only inputs of rank 3 to 5 are taken" : "";
  };
  if (activation_of(view)) return check(0);
  if (view.op_type() == "BatchNormalization") {
    if (std::string reason = check(0); !reason.empty()) return reason;
    const bool is_folded = is_constant_f32(view.input(1)) &&
                           normalization_of(view, element_count(view.input(1))).has_value();
    return is_folded ? "" : "it trains, or its parameters are not constant";
  }
  if (!arithmetic_of(view)) return "no kernel for operator " + std::string(view.op_type());
  if (view.input(0).is_constant() && view.input(1).is_constant()) return "both inputs are constant";
  for (int i = 0; i < 2; ++i) {
    const sdk::ValueView other = view.input(1 - i);
    if (view.input(i).is_constant()) {
      const int64_t channels = other.rank() > 1 ? other.extent(1) : -1;
      if (channels < 1 || !along_axis(view.input(i), other.rank(), 1, channels))
        return "its constant is not one number for each channel";
    } else if (std::string reason = check(i, !other.is_constant()); !reason.empty()) {
      return reason;
    } else if (!other.is_constant() && std::min(other.rank(), view.input(i).rank()) > 2 &&
               other.rank() != view.input(i).rank()) {
      return "its inputs differ in rank";
    }
  }
  return {};
}

bool is_eltwise_parameter(const GraphIndex& index, uint32_t node, uint32_t position) {
  return position > 0 || arithmetic_of(index.node(node)).has_value();
}

RootTraits eltwise_traits(const GraphIndex& index, uint32_t node) {
  const sdk::NodeView view = index.node(node);
  const bool folds = view.op_type() == "BatchNormalization" && is_constant_f32(view.input(1));
  const int rank = arithmetic_of(view) ? std::max(view.input(0).rank(), view.input(1).rank())
                                       : view.input(0).rank();
  RootTraits traits{rank, 1, folds ? element_count(view.input(1)) : 0};
  traits.adds_tensors = false;
  if (arithmetic_of(view)) traits.tensors = 2;
  return traits;
}

std::span<const Implementation> eltwise_implementations(const Fusion& fusion) {
  static constexpr Implementation kFloat[] = {{"tiles", make_always<EltwiseKernel>}};
  static constexpr Implementation kInt8One[] = {{"int8 by channel", make_int8_batch_norm}};
  static constexpr Implementation kInt8Two[] = {{"int8 tensors", make_int8_binary}};
  if (!fusion.is_quantized()) return kFloat;
  if (fusion.sources.size() == 1) return kInt8One;
  return kInt8Two;
}

}  // namespace gantry::x86
