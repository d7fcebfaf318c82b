// SPDX-License-Identifier: Apache-2.0
#include "operators.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace gantry_openvino {
namespace {

namespace sdk = gantry::sdk;

// The reason why a node of a supported operator is refused; empty if it is accepted.
using Condition = std::string (*)(const sdk::NodeView& node);

bool has_output(const sdk::NodeView& node, int index) { return node.output(index).present(); }

std::string one_output(const sdk::NodeView& node) {
  for (int i = 1; i < node.output_count(); ++i) {
    if (has_output(node, i)) return "only the first output is computed";
  }
  return {};
}

std::string floor_shapes(const sdk::NodeView& node) {
  if (node.get_int("ceil_mode", 0) != 0) return "ceil_mode may give another shape";
  return one_output(node);
}

std::string inference_only(const sdk::NodeView& node) {
  if (node.get_int("training_mode", 0) != 0) return "training_mode is not supported";
  return one_output(node);
}

// If OpenVINO's reader removes a node, an input and an output of the fragment may become one
// tensor, and its engine then does not write the output.
std::string several_inputs(const sdk::NodeView& node) {
  return node.input_count() > 1 ? "" : "of a single input nothing is to be computed";
}

std::string recurrent(const sdk::NodeView& node) {
  if (node.get_int("layout", 0) != 0) return "layout 1 is not supported";
  if (node.has("activations") || node.has("clip") || node.has("input_forget"))
    return "activations, clip and input_forget are not supported";
  if (node.input(4).present()) return "sequence_lens is not supported";
  if (node.input(7).present()) return "peepholes are not supported";
  return {};
}

std::string constant_input(const sdk::NodeView& node, int index, const char* what) {
  return node.input(index).present() && !node.input(index).is_constant()
             ? std::string(what) + " must be a constant"
             : std::string();
}

std::string resize(const sdk::NodeView& node) {
  const std::string mode = node.get_string("mode", "nearest");
  const std::string way = node.get_string("coordinate_transformation_mode", "half_pixel");
  if (mode != "nearest" && mode != "linear") return "mode " + mode + " is not supported";
  if (way != "half_pixel" && way != "asymmetric" && way != "pytorch_half_pixel")
    return "coordinate_transformation_mode " + way + " is not supported";
  if (node.get_int("antialias", 0) != 0) return "antialias is not supported";
  if (node.get_int("exclude_outside", 0) != 0) return "exclude_outside is not supported";
  if (node.has("axes")) return "axes are not supported";
  if (node.get_string("keep_aspect_ratio_policy", "stretch") != "stretch")
    return "keep_aspect_ratio_policy is not supported";
  if (mode == "linear" && node.input(0).rank() != 4) return "linear needs an input of rank 4";
  return {};
}

std::string pad(const sdk::NodeView& node) {
  const std::string mode = node.get_string("mode", "constant");
  if (mode == "wrap") return "mode wrap is not supported";
  return constant_input(node, 1, "pads");
}

std::string blocks(const sdk::NodeView& node) {
  const bool is_plain = node.op_type() == "DepthToSpace" || !node.has("mode");
  return is_plain ? "" : "an order of its own is not supported";
}

std::string cast(const sdk::NodeView& node) {
  const gantry_dtype from = node.input(0).dtype();
  if (from == node.output(0).dtype()) return "nothing is to be computed";
  const bool is_narrowing = from == GANTRY_FLOAT && node.output(0).dtype() != GANTRY_FLOAT &&
                            node.output(0).dtype() != GANTRY_BOOL;
  return is_narrowing ? "casts of floats to integers differ beyond the integers' range" : "";
}

// These are asked of shapes, too.
std::string any_reduction(const sdk::NodeView& node) {
  const gantry_tensor* const axes = node.input(1).constant();
  if (node.get_int("noop_with_empty_axes", 0) != 0 && !(axes && axes->size_bytes > 0))
    return "noop_with_empty_axes may leave nothing to compute";
  return {};
}

std::string reduction(const sdk::NodeView& node) {
  if (std::string reason = any_reduction(node); !reason.empty()) return reason;
  return node.input(0).dtype() == GANTRY_FLOAT ? "" : "only float32 is computed exactly";
}

std::string floats_only(const sdk::NodeView& node) {
  return node.input(0).dtype() == GANTRY_FLOAT ? "" : "only float32 is computed exactly";
}

struct Row {
  std::string_view op_type;
  int newest;  // newest supported schema version
  Condition condition = nullptr;
};

// Sorted by name. Other operators have no counterpart in OpenVINO, or failed ONNX's node cases.
constexpr auto kRows = std::to_array<Row>({
    {"Abs", 13},
    {"Acos", 22},
    {"Acosh", 22},
    {"Add", 14},
    {"And", 7},
    {"ArgMax", 13},
    {"ArgMin", 13},
    {"Asin", 22},
    {"Asinh", 22},
    {"Atan", 22},
    {"Atanh", 22},
    {"AveragePool", 22, floor_shapes},
    {"BatchNormalization", 15, inference_only},
    {"Cast", 28, cast},
    {"Ceil", 13},
    {"Clip", 13, floats_only},
    {"Concat", 13},
    {"ConstantOfShape", 25},
    {"Conv", 22},
    {"ConvTranspose", 22},
    {"Cos", 22},
    {"Cosh", 22},
    {"DepthToSpace", 28, blocks},
    {"Div", 14},
    {"Elu", 22},
    {"Equal", 19},
    {"Erf", 13},
    {"Exp", 13},
    {"Expand", 13},
    {"Flatten", 25},
    {"Floor", 13},
    {"GRU", 22, recurrent},
    {"Gather", 13},
    {"GatherND", 13},
    {"Gelu", 20},
    {"Gemm", 13, floats_only},
    {"GlobalAveragePool", 22},
    {"GlobalMaxPool", 22},
    {"Greater", 13},
    {"GreaterOrEqual", 16},
    {"HardSigmoid", 22},
    {"HardSwish", 22},
    {"Identity", 25},
    {"InstanceNormalization", 22},
    {"LRN", 13},
    {"LSTM", 22, recurrent},
    {"LayerNormalization", 17, one_output},
    {"LeakyRelu", 16},
    {"Less", 13},
    {"LessOrEqual", 16},
    {"Log", 13},
    {"LogSoftmax", 13},
    {"LpNormalization", 22},
    {"MatMul", 13, floats_only},
    {"Max", 13, several_inputs},
    {"MaxPool", 22, floor_shapes},
    {"Mean", 13, several_inputs},
    {"Min", 13, several_inputs},
    {"Mish", 22},
    {"Mul", 14},
    {"Neg", 13},
    {"Not", 1},
    {"Or", 7},
    {"PRelu", 16, floats_only},
    {"Pad", 25, pad},
    {"Pow", 15, floats_only},
    {"RNN", 22, recurrent},
    {"Range", 27},
    {"Reciprocal", 13},
    {"ReduceL1", 18, reduction},
    {"ReduceL2", 18, reduction},
    {"ReduceMax", 20, reduction},
    {"ReduceMean", 18, reduction},
    {"ReduceMin", 20, reduction},
    {"ReduceProd", 18, any_reduction},
    {"ReduceSum", 13, any_reduction},
    {"ReduceSumSquare", 18, reduction},
    {"Relu", 14},
    {"Reshape", 25},
    {"Resize", 19, resize},
    {"Round", 22},
    {"Selu", 22},
    {"Shape", 25},
    {"Sigmoid", 13},
    {"Sign", 13},
    {"Sin", 22},
    {"Sinh", 22},
    {"Size", 25},
    {"Slice", 13},
    {"Softmax", 13},
    {"Softplus", 22},
    {"Softsign", 22},
    {"SpaceToDepth", 28, blocks},
    {"Split", 18},
    {"Sqrt", 13},
    {"Squeeze", 25},
    {"Sub", 14},
    {"Sum", 13, several_inputs},
    {"Tan", 22},
    {"Tanh", 13},
    {"ThresholdedRelu", 22},
    {"Tile", 13},
    {"Transpose", 25},
    {"Unsqueeze", 25},
    {"Where", 16},
    {"Xor", 7},
});

// They move, compare or select elements, so 8-bit and 16-bit elements stay exact.
constexpr auto kExactInFew = std::to_array<std::string_view>(
    {"Concat",    "Equal",       "Expand", "Flatten", "Gather",  "Greater", "GreaterOrEqual",
     "Less",      "LessOrEqual", "Max",    "MaxPool", "Min",     "Pad",     "Relu",
     "Reshape",   "Sign",        "Slice",  "Split",   "Squeeze", "Tile",    "Transpose",
     "Unsqueeze", "Where"});
// 16-bit floats are computed in f32 and rounded once.
constexpr auto kExactInHalves = std::to_array<std::string_view>(
    {"Add", "Div", "Exp", "Mul", "Neg", "Sigmoid", "Sqrt", "Sub", "Tanh"});

}  // namespace

std::string refusal_of(const sdk::NodeView& node) {
  const auto row = std::lower_bound(
      kRows.begin(), kRows.end(), node.op_type(),
      [](const Row& item, std::string_view op_type) { return item.op_type < op_type; });
  if (!node.domain().empty() || row == kRows.end() || row->op_type != node.op_type())
    return "operator " + std::string(node.op_type()) + " is not handed to OpenVINO";
  if (node.since_version() > row->newest) {
    return std::string(node.op_type()) + " of version " + std::to_string(node.since_version()) +
           " is not known, only up to " + std::to_string(row->newest);
  }
  return row->condition ? row->condition(node) : std::string();
}

std::string type_refusal(const sdk::NodeView& node, gantry_dtype dtype) {
  const std::string_view op_type = node.op_type();
  const auto is_in = [&](const auto& names) {
    return std::find(names.begin(), names.end(), op_type) != names.end();
  };
  switch (dtype) {
    case GANTRY_FLOAT:
    case GANTRY_INT32:
    case GANTRY_INT64:
    case GANTRY_BOOL:
      return {};
    case GANTRY_DOUBLE:
      // Of 2026.4, with every precision and execution mode that it knows.
      return "OpenVINO's engine for the CPU cuts doubles to 32 bits, also where it only moves or "
             "compares them";
    case GANTRY_FLOAT16:
    case GANTRY_INT8:
    case GANTRY_UINT8:
      break;
    default:
      return "element type " + std::to_string(dtype) + " (ONNX TensorProto number) was not tried";
  }
  if (op_type == "Cast" && node.output(0).dtype() == GANTRY_FLOAT) return {};
  if (is_in(kExactInFew)) return {};
  if (dtype != GANTRY_FLOAT16) {
    return "results of 8 bits are cut to the type's range, where ONNX's wrap around, or are "
           "rounded "
           "otherwise";
  }
  return is_in(kExactInHalves) ? ""
                               : "halves of " + std::string(op_type) + " are rounded otherwise";
}

bool counts_extents(const sdk::NodeView& node) {
  const std::string_view op_type = node.op_type();
  return op_type == "Shape" || op_type == "Size" || op_type == "ArgMax" || op_type == "ArgMin";
}

bool is_position(const sdk::NodeView& node, int index) {
  return index == 1 && (node.op_type() == "Gather" || node.op_type() == "GatherND");
}

}  // namespace gantry_openvino
