// SPDX-License-Identifier: Apache-2.0
#include "random_cases.h"

#include <map>

#include "case_text.h"

namespace gantry::checks {
namespace {

// `inputs`: T[2,3] an input of the row's type, +T[2,3] with positive elements, =T[2,3] a constant,
// bool[2] an input of that type, i64{2,-1} a constant list, - an absent input. `attributes`: axis=1
// alpha=0.5 perm=1,0 mode:text; a list of one element ends in a comma. `outputs`: types, where T is
// the row's type.
struct Row {
  const char* op_type;
  const char* inputs;
  const char* attributes;
  const char* types;
  const char* outputs = "T";
};

constexpr const char* kFloats = "float32 float64 float16 bfloat16";
constexpr const char* kOldFloats = "float32 float64 float16";  // of schemas before bfloat16
constexpr const char* kReals = "float32 float64";
constexpr const char* kNumbers = "float32 float64 float16 int32 int64 int8 uint8";
constexpr const char* kIntegers = "int32 int64 int8 uint8 int16 uint16 uint32 uint64";
constexpr const char* kAny = "float32 float64 float16 bfloat16 int32 int64 int8 uint8 bool";

constexpr Row kRows[] = {
    {"Abs", "T[2,3,5]", "", kNumbers},
    {"Acos", "T[2,3,5]", "", kReals},
    {"Acosh", "+T[2,3,5]", "", kReals},
    {"Add", "T[2,3,5] T[3,1]", "", kNumbers},
    {"Add", "T[4,1,6] T[4,5,1]", "", kFloats},
    {"And", "T[2,3] T[3]", "", "bool"},
    {"ArgMax", "T[3,4,5]", "axis=1 keepdims=0", "float32 int32", "int64"},
    {"ArgMin", "T[3,4,5]", "axis=-1", "float32 int32", "int64"},
    {"Asin", "T[2,3,5]", "", kReals},
    {"Asinh", "T[2,3,5]", "", kReals},
    {"Atan", "T[2,3,5]", "", kReals},
    {"Atanh", "T[2,3,5]", "", kReals},
    {"AveragePool", "T[1,3,9,8]", "kernel_shape=3,3 strides=2,2 pads=1,1,1,1", kReals},
    {"AveragePool", "T[1,2,9]", "kernel_shape=2, count_include_pad=1 pads=1,1", kReals},
    {"BatchNormalization", "T[2,3,4,4] T[3] T[3] T[3] +T[3]", "epsilon=0.01", kReals},
    {"BitwiseAnd", "T[2,3] T[3]", "", kIntegers},
    {"BitwiseNot", "T[2,3]", "", kIntegers},
    {"BitwiseOr", "T[2,3] T[3]", "", kIntegers},
    {"BitwiseXor", "T[2,3] T[3]", "", kIntegers},
    {"Cast", "T[2,3,5]", "to=1", kNumbers, "float32"},
    {"Cast", "T[2,3,5]", "to=7", "int32 int8 uint8 bool", "int64"},
    {"Cast", "T[2,3,5]", "to=10", kReals, "float16"},
    {"Ceil", "T[2,3,5]", "", kFloats},
    {"Celu", "T[2,3,5]", "alpha=0.7", "float32"},
    {"Clip", "T[2,3,5]", "", kNumbers},
    {"Concat", "T[2,3] T[2,1] T[2,4]", "axis=1", kAny},
    {"Conv", "T[1,3,7,9] T[4,3,3,3] T[4]", "pads=1,1,1,1", kReals},
    {"Conv", "T[2,4,8,8] T[6,2,3,3]", "group=2 strides=2,2 dilations=1,2", kReals},
    {"Conv", "T[1,4,11] T[4,1,3]", "group=4 pads=2,0", kReals},
    {"Conv", "T[1,2,4,5,6] T[3,2,2,2,2]", "auto_pad:SAME_UPPER", "float32"},
    {"Conv", "T[1,3,7,9] =T[4,3,3,3] =T[4]", "pads=1,1,1,1", kReals},
    {"Conv", "T[2,16,8,8] =T[32,8,3,3]", "group=2 strides=2,2 dilations=1,2", kReals},
    {"Conv", "T[1,16,11,9] =T[16,1,3,3] =T[16]", "group=16 pads=1,1,1,1", kReals},
    {"Conv", "T[3,4,11] =T[5,4,3]", "pads=2,0", kReals},
    {"ConvTranspose", "T[1,3,5,4] T[3,2,3,3] T[2]", "strides=2,2 pads=1,1,1,1 output_padding=1,1",
     kReals},
    {"Cos", "T[2,3,5]", "", kReals},
    {"Cosh", "T[2,3,5]", "", kReals},
    {"CumSum", "T[3,4] i64{1}", "reverse=1", "float32 float64 int32 int64"},
    {"DepthToSpace", "T[1,8,2,3]", "blocksize=2 mode:CRD", kReals},
    {"Div", "T[2,3,5] +T[3,1]", "", kFloats},
    {"Einsum", "T[3,4] T[4,5]", "equation:ij,jk->ik", kReals},
    {"Elu", "T[2,3,5]", "alpha=0.5", kOldFloats},
    {"Equal", "T[2,3] T[3]", "", "float32 int32 int64 bool", "bool"},
    {"Erf", "T[2,3,5]", "", kFloats},
    {"Exp", "T[2,3,5]", "", kFloats},
    {"Expand", "T[3,1] i64{2,1,4}", "", kAny},
    {"Flatten", "T[2,3,4]", "axis=2", kAny},
    {"Floor", "T[2,3,5]", "", kFloats},
    {"Gather", "T[4,3] i64{3,0,-1}", "axis=0", kAny},
    {"GatherElements", "T[3,2] i64{1,0,2}x3x1", "axis=0", kAny},
    {"Gelu", "T[2,3,5]", "", kFloats},
    {"Gelu", "T[2,3,5]", "approximate:tanh", kReals},
    {"Gemm", "T[4,6] T[5,6] T[5]", "transB=1 alpha=0.5 beta=2.0", kReals},
    {"Gemm", "T[6,4] T[6,5]", "transA=1", kReals},
    {"Gemm", "T[4,6] =T[5,6] =T[5]", "transB=1 alpha=0.5 beta=2.0", kReals},
    {"Gemm", "T[7,33] =T[33,40] =T[40]", "", kReals},
    {"GlobalAveragePool", "T[2,3,5,4]", "", kReals},
    {"GlobalMaxPool", "T[2,3,5,4]", "", kReals},
    {"Greater", "T[2,3] T[3]", "", "float32 float64 int32 int64", "bool"},
    {"GreaterOrEqual", "T[2,3] T[3]", "", "float32 float64 int32 int64", "bool"},
    {"GroupNormalization", "T[2,4,3,3] T[4] T[4]", "num_groups=2", "float32"},
    {"HardSigmoid", "T[2,3,5]", "", kOldFloats},
    {"HardSwish", "T[2,3,5]", "", kOldFloats},
    {"Hardmax", "T[3,4]", "", kReals},
    {"Identity", "T[2,3]", "", kAny},
    {"InstanceNormalization", "T[2,3,4,5] T[3] T[3]", "", kReals},
    {"IsNaN", "T[2,3]", "", kReals, "bool"},
    {"LRN", "T[1,6,3,3]", "size=3", "float32"},
    {"LayerNormalization", "T[2,3,8] T[8] T[8]", "axis=-1", kReals},
    {"LeakyRelu", "T[2,3,5]", "alpha=0.1", kFloats},
    {"Less", "T[2,3] T[3]", "", "float32 float64 int32 int64", "bool"},
    {"LessOrEqual", "T[2,3] T[3]", "", "float32 float64 int32 int64", "bool"},
    {"Log", "+T[2,3,5]", "", kFloats},
    {"LogSoftmax", "T[3,7]", "axis=1", kFloats},
    {"MatMul", "T[5,7] T[7,3]", "", kReals},
    {"MatMul", "T[2,1,5,7] T[3,7,4]", "", "float32 float64 int32"},
    {"MatMul", "T[7] T[7,3]", "", kReals},
    {"MatMul", "T[2,9,24] =T[24,48]", "", kReals},
    {"MatMul", "T[2,9,24] =T[2,24,8]", "", kReals},
    {"Max", "T[2,3] T[3] T[1]", "", kNumbers},
    {"MaxPool", "T[1,3,9,8]", "kernel_shape=3,2 strides=2,1 ceil_mode=1", kReals},
    {"Mean", "T[2,3] T[3]", "", kReals},
    {"Min", "T[2,3] T[3] T[1]", "", kNumbers},
    {"Mish", "T[2,3,5]", "", kReals},
    {"Mul", "T[2,3,5] T[3,1]", "", kNumbers},
    {"Neg", "T[2,3,5]", "", "float32 float64 float16 int32 int64 int8"},
    {"Not", "T[2,3]", "", "bool"},
    {"Or", "T[2,3] T[3]", "", "bool"},
    {"PRelu", "T[2,3,5] T[3,1]", "", kReals},
    {"Pad", "T[2,3] i64{1,0,0,2}", "mode:edge", kReals},
    {"Pow", "+T[2,3,5] T[3,1]", "", kReals},
    {"Reciprocal", "+T[2,3,5]", "", kFloats},
    {"ReduceL1", "T[3,4,5] i64{1}", "", kReals},
    {"ReduceL2", "T[3,4,5] i64{0,2}", "keepdims=0", kReals},
    {"ReduceLogSum", "+T[3,4,5] i64{1}", "", kReals},
    {"ReduceLogSumExp", "T[3,4,5] i64{1}", "", kReals},
    {"ReduceMax", "T[3,4,5] i64{-1}", "", "float32 float64 int32 int64 int8 uint8"},
    {"ReduceMean", "T[3,4,5] i64{0,2}", "", kReals},
    {"ReduceMin", "T[3,4,5] i64{1}", "keepdims=0", "float32 float64 int32 int64 int8 uint8"},
    {"ReduceProd", "T[3,4,5] i64{2}", "", kReals},
    {"ReduceSum", "T[3,4,5] i64{1}", "", "float32 float64 int32 int64"},
    {"ReduceSum", "T[3,4,5]", "keepdims=0", "float32 float64"},
    {"ReduceSumSquare", "T[3,4,5] i64{1}", "", kReals},
    {"Relu", "T[2,3,5]", "", "float32 float64 float16 bfloat16 int32 int8"},
    {"Relu", "T[70,300]", "", "float32"},
    {"Reshape", "T[2,3,4] i64{4,-1}", "", kAny},
    {"Resize", "T[1,2,4,4] - - i64{1,2,7,5}", "mode:linear", "float32"},
    {"Resize", "T[1,2,4,4] - - i64{1,2,8,8}", "mode:nearest", "float32"},
    {"Round", "T[2,3,5]", "", kReals},
    {"Selu", "T[2,3,5]", "", kReals},
    {"Shape", "T[2,3,5]", "", kAny, "int64"},
    {"Sigmoid", "T[2,3,5]", "", kFloats},
    {"Sign", "T[2,3,5]", "", "float32 float64 int32 int64 int8"},
    {"Sin", "T[2,3,5]", "", kReals},
    {"Sinh", "T[2,3,5]", "", kReals},
    {"Size", "T[2,3,5]", "", kAny, "int64"},
    {"Slice", "T[5,6] i64{4,1} i64{0,5} i64{0,1} i64{-2,1}", "", kAny},
    {"Softmax", "T[3,7]", "axis=-1", kFloats},
    {"Softmax", "T[2,3,4]", "axis=1", kReals},
    {"Softplus", "T[2,3,5]", "", kReals},
    {"Softsign", "T[2,3,5]", "", kReals},
    {"SpaceToDepth", "T[1,2,4,6]", "blocksize=2", kReals},
    {"Sqrt", "+T[2,3,5]", "", kFloats},
    {"Squeeze", "T[1,3,1,2] i64{0,2}", "", kAny},
    {"Sub", "T[2,3,5] T[3,1]", "", "float32 float64 float16 int32 int64 int8"},
    {"Sum", "T[2,3] T[3] T[1]", "", kReals},
    {"Tan", "T[2,3,5]", "", kReals},
    {"Tanh", "T[2,3,5]", "", kFloats},
    {"ThresholdedRelu", "T[2,3,5]", "alpha=0.2", kReals},
    {"Tile", "T[2,3] i64{2,3}", "", kAny},
    {"TopK", "T[3,7] i64{3}", "axis=1", "float32 float64", "T int64"},
    {"Transpose", "T[2,3,4]", "perm=2,0,1", kAny},
    {"Trilu", "T[4,5]", "upper=0", kReals},
    {"Unsqueeze", "T[2,3] i64{0,3}", "", kAny},
    {"Where", "bool[2,3] T[3] T[2,1]", "", kAny},
    {"Xor", "T[2,3] T[3]", "", "bool"},
};

RandomCase case_of(const Row& row, const std::string& label, DType own) {
  RandomCase result;
  result.name = label + "/" + std::string(to_string(own));
  result.model.op_type = row.op_type;
  for (const std::string& word : words_of(row.inputs)) {
    ModelInput input;
    const bool is_positive = word[0] == '+';
    const bool is_constant = word[0] == '=';
    const size_t mark = is_positive || is_constant ? 1 : 0;
    if (word.rfind("i64{", 0) == 0) {
      input.name = "c" + std::to_string(result.model.inputs.size());
      input.constant = constant_of(word);
    } else if (word != "-") {
      const size_t open = word.find('[');
      input.name = "x" + std::to_string(result.model.inputs.size());
      input.dtype = type_of(word.substr(mark, open - mark), own);
      input.shape = numbers_of(word.substr(open + 1, word.size() - open - 2));
    }
    result.model.inputs.push_back(std::move(input));
    result.is_positive.push_back(is_positive);
    result.is_constant.push_back(is_constant);
  }
  for (const std::string& word : words_of(row.attributes))
    result.model.attributes.push_back(attribute_of(word));
  for (const std::string& word : words_of(row.outputs))
    result.model.outputs.push_back(type_of(word, own));
  return result;
}

}  // namespace

std::vector<RandomCase> random_cases() {
  std::vector<RandomCase> cases;
  std::map<std::string, int> rows_of;
  for (const Row& row : kRows) {
    const int number = ++rows_of[row.op_type];
    const std::string label =
        row.op_type + (number == 1 ? std::string() : "." + std::to_string(number));
    for (const std::string& type : words_of(row.types))
      cases.push_back(case_of(row, label, dtype_from_string(type)));
  }
  return cases;
}

}  // namespace gantry::checks
