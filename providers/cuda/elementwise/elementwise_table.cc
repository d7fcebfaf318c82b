// SPDX-License-Identifier: Apache-2.0
#include "elementwise/elementwise_table.h"

#include <algorithm>
#include <iterator>

#include "compile/kernel_texts.h"
#include "plan/types.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

using Writer = std::string (*)(const NodeView& node);

/// A row of the table. `text`: the result as an expression, in which {0}, {1}, ... are the inputs,
/// {name:0.1} is a float attribute with its default, {T} the type of the result and {Q} the type of
/// the last input; null: the operator's name applied to all inputs.
struct Row {
  const char* op_type;
  int first_version;
  int last_version;
  sdk::DTypeSet dtypes;  // of `typed_input`
  const char* text = nullptr;
  Writer writer = nullptr;                              // instead of `text`
  std::string (*condition)(const NodeView&) = nullptr;  // empty: taken
  const char* domain = "";
  int typed_input = 0;
};

using sdk::kBool;
using sdk::kFloats;
using sdk::kIntegers;
using sdk::kLatest;
using sdk::kNumbers;
using sdk::kSigned;

// {0} op ({1} op ...), of two or more.
std::string fold(const NodeView& node) {
  std::string text = "{0}";
  for (int i = 1; i < node.input_count(); ++i)
    text = join({node.op_type(), "(", text, ", {", std::to_string(i), "})"});
  return text;
}

std::string sum(const NodeView& node) {
  std::string text = "{0}";
  for (int i = 1; i < node.input_count(); ++i) text += " + {" + std::to_string(i) + "}";
  return text;
}

std::string mean(const NodeView& node) {
  return "(" + sum(node) + ") / ({T})" + std::to_string(node.input_count());
}

std::string clip(const NodeView& node) {
  std::string text = "{0}";
  const uint32_t dtype = node.input(0).dtype();
  if (node.since_version() < 11) {
    text = "ClipLow(" + text + ", " +
           literal(dtype, node.get_float("min", -std::numeric_limits<float>::max())) + ")";
    return "ClipHigh(" + text + ", " +
           literal(dtype, node.get_float("max", std::numeric_limits<float>::max())) + ")";
  }
  if (node.input(1).present()) text = "ClipLow(" + text + ", {1})";
  if (node.input(2).present()) text = "ClipHigh(" + text + ", {2})";
  return text;
}

std::string cast(const NodeView& node) {
  const uint32_t to = node.output(0).dtype();
  // Later nodes of the same kernel must see the rounded value.
  if (to == GANTRY_FLOAT16) return "widen(narrow_f16(Cast<float>({0})))";
  if (to == GANTRY_BFLOAT16) return "widen(narrow_bf16(Cast<float>({0})))";
  return "Cast<{T}>({0})";
}

std::string is_inf(const NodeView& node) {
  const auto flag = [&](const char* name) {
    return node.get_int(name, 1) != 0 ? ", true" : ", false";
  };
  return std::string("IsInf({0}") + flag("detect_negative") + flag("detect_positive") + ")";
}

std::string modulo(const NodeView& node) {
  return node.get_int("fmod", 0) != 0 ? "Fmod({0}, {1})" : "Mod({0}, {1})";
}
std::string shift(const NodeView& node) {
  return node.get_string("direction", "") == "LEFT" ? "ShiftLeft({0}, {1})"
                                                    : "ShiftRight({0}, {1})";
}

std::string gelu(const NodeView& node) {
  return node.get_string("approximate", "none") == "tanh" ? "GeluTanh({0})" : "Gelu({0})";
}

std::string fast_gelu(const NodeView& node) {
  return node.input(1).present() ? "GeluTanh({0} + {1})" : "GeluTanh({0})";
}

std::string quantize(const NodeView& node) {
  const std::string zero = node.input(2).present() ? "(i32){2}" : "0";
  return "QuantizeLinear<{T}>({0}, {1}, " + zero + ")";
}
std::string dequantize(const NodeView& node) {
  const std::string zero = node.input(2).present() ? "(i32){2}" : "0";
  return "DequantizeLinear((i32){0}, {1}, " + zero + ")";
}

// Scale and zero point per tensor or per axis.
std::string is_quantization(const NodeView& node) {
  if (node.get_int("block_size", 0) != 0) return "scales by block are not supported";
  const int rank = node.input(1).rank();
  if (rank < 0 || rank > 1) return "the rank of the scale is not known to be 0 or 1";
  if (rank == 1 && node.input(0).rank() < 0) return "the rank of input 0 is not known";
  const uint32_t scale = node.input(1).dtype();
  const bool is_quantize = node.op_type() == "QuantizeLinear";
  const uint32_t real = (is_quantize ? node.input(0) : node.output(0)).dtype();
  const uint32_t quantized = (is_quantize ? node.output(0) : node.input(0)).dtype();
  if (!(sdk::dtype_bit(scale) & sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16)) ||
      !(sdk::dtype_bit(real) & sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16)))
    return "only scales and numbers of 32 and 16 bit floats are supported";
  constexpr sdk::DTypeSet kQuantized =
      sdk::dtypes(GANTRY_INT8, GANTRY_UINT8, GANTRY_INT16, GANTRY_UINT16);
  constexpr sdk::DTypeSet kSource = kQuantized | sdk::dtypes(GANTRY_INT32);
  if (!(sdk::dtype_bit(quantized) & (is_quantize ? kQuantized : kSource)))
    return "the quantised type is not an integer of 8 or 16 bits";
  return "";
}

std::string is_inference(const NodeView& node) {
  if (node.get_int("training_mode", 0) != 0) return "training is not supported";
  for (int i = 1; i < node.output_count(); ++i) {
    if (node.output(i).present()) return "only the first output is supported";
  }
  return "";
}

constexpr sdk::DTypeSet kPowers = kFloats | sdk::dtypes(GANTRY_INT32, GANTRY_INT64);
constexpr const char* kMicrosoft = "com.microsoft";

constexpr Row kRows[] = {
    {"Abs", 6, kLatest, kNumbers},
    {"Acos", 7, kLatest, kFloats},
    {"Acosh", 9, kLatest, kFloats},
    {"Add", 7, kLatest, kNumbers},
    {"And", 7, kLatest, kBool},
    {"Asin", 7, kLatest, kFloats},
    {"Asinh", 9, kLatest, kFloats},
    {"Atan", 7, kLatest, kFloats},
    {"Atanh", 9, kLatest, kFloats},
    {"BatchNormalization", 9, kLatest, kFloats,
     "Normalize({0}, ({T}){1}, ({T}){2}, ({T}){3}, ({T}){4}, {epsilon:1e-5})", nullptr,
     is_inference},
    {"BitShift", 11, kLatest, kIntegers, nullptr, shift},
    {"BitwiseAnd", 18, kLatest, kIntegers},
    {"BitwiseNot", 18, kLatest, kIntegers},
    {"BitwiseOr", 18, kLatest, kIntegers},
    {"BitwiseXor", 18, kLatest, kIntegers},
    {"Cast", 6, kLatest, kComputed, nullptr, cast},
    {"CastLike", 15, kLatest, kComputed, nullptr, cast},
    {"Ceil", 6, kLatest, kFloats},
    {"Celu", 12, kLatest, kFloats, "Celu({0}, {alpha:1})"},
    {"Clip", 6, kLatest, kNumbers, nullptr, clip},
    {"Cos", 7, kLatest, kFloats},
    {"Cosh", 9, kLatest, kFloats},
    {"DequantizeLinear", 10, kLatest, kIntegers, nullptr, dequantize, is_quantization},
    {"Div", 7, kLatest, kNumbers},
    {"Elu", 6, kLatest, kFloats, "Elu({0}, {alpha:1})"},
    {"Equal", 7, kLatest, kComputed},
    {"Erf", 9, kLatest, kFloats},
    {"Exp", 6, kLatest, kFloats},
    {"Floor", 6, kLatest, kFloats},
    {"Gelu", 20, kLatest, kFloats, nullptr, gelu},
    {"Greater", 7, kLatest, kNumbers},
    {"GreaterOrEqual", 12, kLatest, kNumbers},
    {"HardSigmoid", 6, kLatest, kFloats, "HardSigmoid({0}, {alpha:0.2}, {beta:0.5})"},
    {"HardSwish", 14, kLatest, kFloats},
    {"Identity", 1, kLatest, kComputed},
    {"IsInf", 10, kLatest, kFloats, nullptr, is_inf},
    {"IsNaN", 9, kLatest, kFloats},
    {"LeakyRelu", 6, kLatest, kFloats, "LeakyRelu({0}, {alpha:0.01})"},
    {"Less", 7, kLatest, kNumbers},
    {"LessOrEqual", 12, kLatest, kNumbers},
    {"Log", 6, kLatest, kFloats},
    {"Max", 8, kLatest, kNumbers, nullptr, fold},
    {"Mean", 8, kLatest, kFloats, nullptr, mean},
    {"Min", 8, kLatest, kNumbers, nullptr, fold},
    {"Mish", 18, kLatest, kFloats},
    {"Mod", 10, kLatest, kNumbers, nullptr, modulo},
    {"Mul", 7, kLatest, kNumbers},
    {"Neg", 6, kLatest, kFloats | kSigned},
    {"Not", 1, kLatest, kBool},
    {"Or", 7, kLatest, kBool},
    {"PRelu", 7, kLatest, kNumbers},
    {"Pow", 7, kLatest, kPowers},
    {"QuantizeLinear", 10, kLatest, kFloats, nullptr, quantize, is_quantization},
    {"Reciprocal", 6, kLatest, kFloats},
    {"Relu", 6, kLatest, kFloats | kSigned},
    {"Round", 11, kLatest, kFloats},
    {"Selu", 6, kLatest, kFloats,
     "Selu({0}, {alpha:1.67326319217681884765625}, {gamma:1.05070102214813232421875})"},
    {"Shrink", 9, kLatest, kFloats, "Shrink({0}, {lambd:0.5}, {bias:0})"},
    {"Sigmoid", 6, kLatest, kFloats},
    {"Sign", 9, kLatest, kNumbers},
    {"Sin", 7, kLatest, kFloats},
    {"Sinh", 9, kLatest, kFloats},
    {"Softplus", 1, kLatest, kFloats},
    {"Softsign", 1, kLatest, kFloats},
    {"Sqrt", 6, kLatest, kFloats},
    {"Sub", 7, kLatest, kNumbers},
    {"Sum", 8, kLatest, kFloats, nullptr, sum},
    {"SwiGLU", 28, kLatest, kFloats, "Swish({0}, {alpha:1}) * {1}"},
    {"Swish", 24, kLatest, kFloats, "Swish({0}, {alpha:1})"},
    {"Tan", 7, kLatest, kFloats},
    {"Tanh", 6, kLatest, kFloats},
    {"ThresholdedRelu", 10, kLatest, kFloats, "ThresholdedRelu({0}, {alpha:1})"},
    {"Where", 9, kLatest, kComputed, nullptr, nullptr, nullptr, "", 1},
    {"Xor", 7, kLatest, kBool},
    {"BiasGelu", 1, kLatest, kFloats, "Gelu({0} + {1})", nullptr, nullptr, kMicrosoft},
    {"FastGelu", 1, kLatest, kFloats, nullptr, fast_gelu, nullptr, kMicrosoft},
    {"Gelu", 1, kLatest, kFloats, nullptr, nullptr, nullptr, kMicrosoft},
    {"QuickGelu", 1, kLatest, kFloats, "Swish({0}, {alpha:1.702})", nullptr, nullptr, kMicrosoft},
    {"DequantizeLinear", 1, kLatest, kIntegers, nullptr, dequantize, is_quantization, kMicrosoft},
    {"QuantizeLinear", 1, kLatest, kFloats, nullptr, quantize, is_quantization, kMicrosoft},
};

const Row* row_of(const NodeView& node) {
  const auto* const found = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) {
    return row.op_type == node.op_type() && row.domain == node.domain();
  });
  return found == std::end(kRows) ? nullptr : found;
}

// The row's text with attributes and types filled in.
std::string fill_in(const Row& row, const NodeView& node) {
  const uint32_t result = node.output(0).dtype();
  if (row.writer || !row.text) {
    std::string text;
    if (row.writer) {
      text = row.writer(node);
    } else {
      text = std::string(row.op_type) + "(";
      for (int i = 0; i < node.input_count(); ++i)
        text += (i > 0 ? ", {" : "{") + std::to_string(i) + "}";
      text += ")";
    }
    for (size_t at = text.find("{T}"); at != std::string::npos; at = text.find("{T}"))
      text.replace(at, 3, computed_name(result));
    return text;
  }
  std::string text;
  for (const char* c = row.text; *c; ++c) {
    const std::string rest = c;
    const size_t end = rest.find('}');
    if (*c != '{' || (rest[1] >= '0' && rest[1] <= '9')) {
      text += *c;
      continue;
    }
    const size_t colon = rest.find(':');
    if (colon < end) {
      const std::string name = rest.substr(1, colon - 1);
      const auto fallback = static_cast<float>(std::stod(rest.substr(colon + 1, end - colon - 1)));
      text += literal(result, node.get_float(name, fallback));
    } else {
      text += computed_name(result);  // {T}
    }
    c += end;
  }
  return text;
}

}  // namespace

std::string elementwise_refusal(const NodeView& node, bool& out_is_known) {
  const Row* row = row_of(node);
  out_is_known = row != nullptr;
  if (!row) return "no kernel for operator " + std::string(node.op_type());
  if (node.since_version() < row->first_version || node.since_version() > row->last_version) {
    return std::string(node.op_type()) + " of version " + std::to_string(node.since_version()) +
           " is not supported, only from " + std::to_string(row->first_version) + " on";
  }
  if (node.input_count() == 0 || !node.input(0).present() || !node.output(0).present())
    return "it has no input or no output";
  for (int i = -1; i < node.input_count(); ++i) {
    const sdk::ValueView value = i < 0 ? node.output(0) : node.input(i);
    if (!value.present()) continue;
    if (value.kind() != GANTRY_KIND_TENSOR || !(sdk::dtype_bit(value.dtype()) & kComputed)) {
      return "the element type of \"" + std::string(value.name()) +
             "\" is not known, or none that its kernels compute with";
    }
  }
  if (!(sdk::dtype_bit(node.input(row->typed_input).dtype()) & row->dtypes)) {
    return "element type " + std::to_string(node.input(row->typed_input).dtype()) +
           " (ONNX TensorProto number) is not supported by kernel " + row->op_type;
  }
  return row->condition ? row->condition(node) : "";
}

ElementwiseNode elementwise_node(const NodeView& node) {
  ElementwiseNode result;
  result.expression = fill_in(*row_of(node), node);
  result.alignment.assign(static_cast<size_t>(node.input_count()), kAsNumpy);
  const auto align = [&](int first, int axis) {
    for (int i = first; i < node.input_count(); ++i) {
      if (node.input(i).rank() != 0) result.alignment[static_cast<size_t>(i)] = axis;
    }
  };
  if (node.op_type() == "BatchNormalization") align(1, 1);
  if (node.op_type() == "QuantizeLinear" || node.op_type() == "DequantizeLinear") {
    if (node.input(1).rank() == 1 && node.input(0).rank() > 0) {
      const int rank = node.input(0).rank();
      const int64_t axis = node.get_int("axis", 1);
      // The default axis 1 is out of range for a 1-D tensor.
      const int64_t counted = rank == 1 && !node.has("axis") ? 0 : axis;
      align(1, static_cast<int>(checked_axis(counted, rank, "axis")));
    }
  }
  return result;
}

}  // namespace gantry::cuda
