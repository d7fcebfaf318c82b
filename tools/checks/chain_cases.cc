// SPDX-License-Identifier: Apache-2.0
#include "chain_cases.h"

#include <sstream>

#include "case_text.h"

namespace gantry::checks {
namespace {

// `inputs`: name T[2,3], where T is f32; +T[2,3] has positive elements, =T[2,3] is a constant,
// =+T[2,3] both; name i64{2,-1} is a list, and name f32{0.5}, u8{128}, i8{0} a scalar. `nodes`: out
// = Operator(in, in) attributes, separated by ;. `output`: the type of y.
struct Row {
  const char* name;
  const char* inputs;
  const char* nodes;
  const char* output = "float32";
};

constexpr const char* kImage = "x T[1,8,9,7] w =T[8,8,3,3] b =T[8] ";

constexpr Row kRows[] = {
    {"Relu-Relu", "x T[2,3,4,5]", "a = Relu(x); y = Relu(a)"},
    {"Conv-Relu", kImage, "a = Conv(x, w, b) pads=1,1,1,1; y = Relu(a)"},
    {"Conv-Clip", "x T[1,8,9,7] w =T[8,1,3,3] l f32{-0.1} h f32{0.2}",
     "a = Conv(x, w) group=8 pads=1,1,1,1; y = Clip(a, l, h)"},
    {"Conv-Sigmoid-Mul", kImage, "a = Conv(x, w, b) strides=2,2; g = Sigmoid(a); y = Mul(a, g)"},
    {"Conv-HardSwish", kImage, "a = Conv(x, w, b) dilations=2,1; y = HardSwish(a)"},
    {"Conv-LeakyRelu", kImage, "a = Conv(x, w, b) pads=0,1,0,1; y = LeakyRelu(a) alpha=0.2"},
    {"Conv-Add-Relu", "x T[1,8,9,7] w =T[8,8,3,3] r T[1,8,9,7]",
     "a = Conv(x, w) pads=1,1,1,1; c = Add(a, r); y = Relu(c)"},
    {"Conv-Add.itself", "x T[1,8,9,7] w =T[8,8,1,1]", "a = Conv(x, w); y = Add(a, a)"},
    {"Conv-Add-Relu.by-channel", "x T[1,8,9,7] w =T[8,8,1,1] r T[1,8,1,1]",
     "a = Conv(x, w); c = Add(a, r); y = Relu(c)"},
    {"Conv-BatchNormalization-Relu", "x T[1,8,9,7] w =T[8,8,3,3] g =+T[8] b =T[8] m =T[8] v =+T[8]",
     "a = Conv(x, w); c = BatchNormalization(a, g, b, m, v); y = Relu(c)"},
    {"Conv-Conv", kImage, "a = Conv(x, w, b) pads=1,1,1,1; y = Conv(a, w) strides=2,2"},
    {"Conv-Relu.read-twice", kImage,
     "a = Conv(x, w, b) pads=1,1,1,1; c = Relu(a); d = Conv(c, w) pads=1,1,1,1; y = Add(d, c)"},
    {"Conv-MaxPool-Conv", kImage,
     "a = Conv(x, w, b) pads=1,1,1,1; c = MaxPool(a) kernel_shape=2,2; y = Conv(c, w) "
     "pads=1,1,1,1"},
    {"Conv-AveragePool-Conv", kImage,
     "a = Conv(x, w, b) pads=1,1,1,1; c = AveragePool(a) kernel_shape=3,3 strides=2,2 "
     "pads=1,1,1,1; y = Conv(c, w) pads=1,1,1,1"},
    {"Conv-Concat-Conv", "x T[1,8,9,7] w =T[4,8,3,3] v =T[2,8,1,1]",
     "a = Conv(x, w) pads=1,1,1,1; c = Conv(x, w) pads=1,1,1,1; d = Concat(a, c) axis=1; "
     "y = Conv(d, v)"},
    {"Conv-Split-Conv", "x T[1,8,9,7] w =T[8,8,3,3] v =T[2,4,1,1]",
     "a = Conv(x, w); c, d = Split(a) axis=1 num_outputs=2; e = Conv(c, v); f = Conv(d, v); "
     "y = Sub(e, f)"},
    {"Conv-Reshape-Transpose", "x T[1,8,4,6] w =T[8,8,1,1] i i64{1,2,4,4,6}",
     "a = Conv(x, w); c = Reshape(a, i); y = Transpose(c) perm=0,2,1,3,4"},
    {"Conv-Resize-Conv", "x T[1,8,4,6] w =T[8,8,1,1] i i64{1,8,8,12}",
     "a = Conv(x, w); c = Resize(a, , , i) mode:nearest; y = Conv(c, w)"},
    {"Conv-GlobalAveragePool-Flatten-Gemm", "x T[2,8,5,7] w =T[8,8,3,3] v =T[8,5] b =T[5]",
     "a = Conv(x, w); c = Relu(a); d = GlobalAveragePool(c); e = Flatten(d); y = Gemm(e, v, b)"},
    {"MatMul-Add-Relu", "x T[3,5,8] w =T[8,6] b =T[6]",
     "a = MatMul(x, w); c = Add(a, b); y = Relu(c)"},
    {"MatMul-Add-Gelu", "x T[3,5,8] w =T[8,6] b =T[6]",
     "a = MatMul(x, w); c = Add(b, a); y = Gelu(c)"},
    {"MatMul-Add.tensor", "x T[5,8] w =T[8,6] r T[5,6]", "a = MatMul(x, w); y = Add(r, a)"},
    {"Gelu.written-out", "x T[3,8] h f32{0.5} o f32{1} q f32{1.4142135}",
     "a = Div(x, q); c = Erf(a); d = Add(c, o); e = Mul(x, d); y = Mul(e, h)"},
    {"MatMul-Mul-Softmax-MatMul", "x T[2,3,5,8] k T[2,3,8,5] v T[2,3,5,8] q f32{0.35}",
     "a = MatMul(x, k); c = Mul(a, q); d = Softmax(c) axis=-1; y = MatMul(d, v)"},
    {"Add-LayerNormalization", "x T[3,5,8] r T[3,5,8] g =T[8] b =T[8]",
     "a = Add(x, r); y = LayerNormalization(a, g, b)"},
    {"LayerNormalization-MatMul", "x T[3,5,8] g =T[8] b =T[8] w =T[8,6]",
     "a = LayerNormalization(x, g, b); y = MatMul(a, w)"},
    {"DequantizeLinear-Conv-QuantizeLinear",
     "x uint8[1,8,9,7] w =int8[8,8,3,3] s f32{0.05} z u8{128} ws f32{0.02} wz i8{0} ys f32{8} "
     "yz u8{120}",
     "a = DequantizeLinear(x, s, z); c = DequantizeLinear(w, ws, wz); d = Conv(a, c); "
     "y = QuantizeLinear(d, ys, yz)",
     "uint8"},
    {"DequantizeLinear-Conv-Relu-QuantizeLinear",
     "x uint8[1,8,9,7] w =int8[8,8,3,3] s f32{0.05} z u8{128} ws f32{0.02} wz i8{0} ys f32{4} "
     "yz u8{0}",
     "a = DequantizeLinear(x, s, z); c = DequantizeLinear(w, ws, wz); d = Conv(a, c); e = Relu(d); "
     "y = QuantizeLinear(e, ys, yz)",
     "uint8"},
    {"DequantizeLinear-MatMul-QuantizeLinear",
     "x uint8[4,8] w =int8[8,6] s f32{0.05} z u8{128} ws f32{0.02} wz i8{0} ys f32{2} yz u8{120}",
     "a = DequantizeLinear(x, s, z); c = DequantizeLinear(w, ws, wz); d = MatMul(a, c); "
     "y = QuantizeLinear(d, ys, yz)",
     "uint8"},
    {"DequantizeLinear-Add-QuantizeLinear",
     "x uint8[4,8] r uint8[4,8] s f32{0.05} z u8{128} rs f32{0.03} rz u8{7} ys f32{0.1} yz u8{99}",
     "a = DequantizeLinear(x, s, z); c = DequantizeLinear(r, rs, rz); d = Add(a, c); "
     "y = QuantizeLinear(d, ys, yz)",
     "uint8"},
    {"DynamicQuantizeLinear-MatMulInteger-Cast-Mul",
     "x T[4,16] w =int8[16,6] wz i8{0} ws f32{0.02}",
     "a, s, z = DynamicQuantizeLinear(x); c = MatMulInteger(a, w, z, wz); d = Cast(c) to=1; "
     "e = Mul(s, ws); y = Mul(d, e)"},
};

// f32{0.5}: a scalar of that type.
Tensor number_of(const std::string& word) {
  const std::string type = word.substr(0, word.find('{'));
  const float number = std::stof(word.substr(type.size() + 1));
  if (type == "u8")
    return {std::vector<int64_t>(), std::vector<uint8_t>{static_cast<uint8_t>(number)}};
  if (type == "i8")
    return {std::vector<int64_t>(), std::vector<int8_t>{static_cast<int8_t>(number)}};
  return {std::vector<int64_t>(), std::vector<float>{number}};
}

void add_inputs(const Row& row, ChainCase& chain) {
  const std::vector<std::string> words = words_of(row.inputs);
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    ModelInput input;
    input.name = words[i];
    std::string word = words[i + 1];
    const auto has = [&](char mark) {
      if (word[0] != mark) return false;
      word.erase(0, 1);
      return true;
    };
    chain.is_constant.push_back(has('='));
    chain.is_positive.push_back(has('+'));
    const size_t open = word.find_first_of("[{");
    if (word[open] == '{') {
      input.constant = word[0] == 'i' && word[1] == '6' ? constant_of(word) : number_of(word);
    } else {
      input.dtype = type_of(word.substr(0, open), DType::kFloat);
      input.shape = numbers_of(word.substr(open + 1, word.size() - open - 2));
    }
    chain.model.inputs.push_back(std::move(input));
  }
}

// "a", "", "b" of "a, , b".
std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> names(1);
  for (const char sign : text) {
    if (sign == ',') names.emplace_back();
    if (sign != ',' && sign != ' ') names.back() += sign;
  }
  return names;
}

void add_nodes(const Row& row, ChainCase& chain) {
  std::istringstream stream(row.nodes);
  for (std::string text; std::getline(stream, text, ';');) {
    const size_t equals = text.find(" = ");
    const size_t open = text.find('(');
    const size_t close = text.find(')');
    ModelNode node;
    node.outputs = names_of(text.substr(0, equals));
    node.op_type = text.substr(equals + 3, open - equals - 3);
    node.inputs = names_of(text.substr(open + 1, close - open - 1));
    for (const std::string& word : words_of(text.substr(close + 1)))
      node.attributes.push_back(attribute_of(word));
    chain.model.nodes.push_back(std::move(node));
  }
}

}  // namespace

std::vector<ChainCase> chain_cases() {
  std::vector<ChainCase> cases;
  for (const Row& row : kRows) {
    ChainCase chain;
    chain.name = row.name;
    add_inputs(row, chain);
    add_nodes(row, chain);
    chain.model.outputs.push_back({"y", dtype_from_string(row.output)});
    cases.push_back(std::move(chain));
  }
  return cases;
}

}  // namespace gantry::checks
