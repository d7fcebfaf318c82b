# SPDX-License-Identifier: Apache-2.0
"""Operands that are one value: a constant that several nodes of a fusion read, each in another role, and a tensor that one node or one fusion reads twice."""

import numpy as np
import pytest

from byte_cases import S8, U8, random8, zero
from byte_cases import check as check_int8
from small_graph import small_graph


def normal(*shape, seed=0, scale=1.0):
    return (np.random.default_rng(seed + 7 * len(shape) + sum(shape)).standard_normal(shape) * scale).astype(np.float32)


ONE, ZERO, TWO, SIX, HALF = map(np.float32, (1, 0, 2, 6, 0.5))
X = normal(2, 8, 9, 10)
W = normal(8, 8, 3, 3, scale=0.2)
POINT = normal(8, 8, 1, 1)
V = np.abs(normal(8)) + np.float32(0.3)  # a vector that may be a variance
SAME = "<pads=[1,1,1,1]>"
# Channels-last, with nothing that is fused into the convolution: `b`.
LAST = f"a = Conv{SAME}(x, w)\n b = MaxPool<kernel_shape=[1,1]>(a)\n "
ROWS = normal(5, 8)
SQUARE = normal(8, 8)

ELEMENTWISE = {  # text, constants, the kernel that is to run
    "bound and operand": ("c = Clip(x, zero, one)\n y = Sub(one, c)", {"zero": ZERO, "one": ONE}),
    "both bounds and operand": ("a = Neg(x)\n c = Clip(a, zero, one)\n d = Mul(c, one)\n e = Add(d, zero)\n y = Max(e, one)", {"zero": ZERO, "one": ONE}),
    "one bound twice": ("a = Abs(x)\n c = Clip(a, one, one)\n y = Mul(c, one)", {"one": ONE}),
    "exponent and operand": ("c = Pow(x, two)\n d = Mul(c, two)\n y = Add(d, two)", {"two": TWO}),
    "operand by operand": ("a = Mul(x, x)\n b = Add(a, a)\n c = Sub(b, a)\n d = Max(c, c)\n e = Min(d, x)\n y = Div(e, e)", {}),
    "vector in every role": ("a = Mul(x, v)\n b = Add(a, v)\n c = Sub(v, b)\n y = Div(c, v)", {"v": np.abs(normal(10)) + ONE}),
    "constant with itself": ("a = Mul(v, v)\n b = Add(a, x)\n y = Mul(b, v)", {"v": normal(10)}),
    "gate by parts": ("a = Add(x, six)\n c = Clip(a, zero, six)\n d = Mul(x, c)\n e = Div(d, six)\n y = Sub(e, six)", {"zero": ZERO, "six": SIX}),
    "hard sigmoid by parts": ("a = Add(x, six)\n c = Clip(a, zero, six)\n d = Div(c, six)\n y = Mul(d, six)", {"zero": ZERO, "six": SIX}),
}


@pytest.mark.parametrize("case", ELEMENTWISE)
def test_sets_of_elementwise_nodes(agrees, case):
    text, constants = ELEMENTWISE[case]
    model, feeds = small_graph(text, {"x": X}, constants)
    assert "x86.elementwise" in agrees(model, feeds)


CONVOLUTIONS = {
    "result twice": ("a = Conv(x, w)\n y = Add(a, a)", {}, "x86.conv"),
    "result by itself": ("a = Conv(x, w)\n y = Mul(a, a)", {}, "x86.conv"),
    "source as residual": (f"a = Conv{SAME}(x, w)\n b = Add(a, x)\n y = Relu(b)", {}, "x86.conv+Add+Relu"),
    "source as residual, first": (f"a = Conv{SAME}(x, w)\n b = Add(x, a)\n y = Relu(b)", {}, "x86.conv+Add+Relu"),
    "residual twice": (f"r = Conv{SAME}(x, w)\n a = Conv{SAME}(r, w)\n b = Add(a, r)\n c = Add(b, r)\n y = Relu(c)", {}, "x86.conv+Add"),
    "both branches of one convolution": (f"a = Conv{SAME}(x, w)\n b = Conv{SAME}(x, w)\n y = Add(a, b)", {}, "x86.conv"),
    "weights of two": (f"a = Conv{SAME}(x, w)\n b = Relu(a)\n y = Conv{SAME}(b, w)", {}, "x86.conv+Relu"),
    "weights as operand": (f"a = Conv{SAME}(x, w)\n s = ReduceSum<keepdims=0>(w)\n y = Mul(a, s)", {}, "x86.conv"),
    "bias and normalisation": ("a = Conv(x, w, v)\n b = BatchNormalization(a, v, v, v, v)\n y = Relu(b)", {"v": V}, "x86.conv+BatchNormalization+Relu"),
    "bias as operand": ("a = Conv(x, w, v)\n b = Relu(a)\n d = ReduceMax(b, axes)\n y = Mul(d, v)", {"v": V, "axes": np.array([1, 2], np.int64)}, "x86.conv+Relu"),
    "scale and shift": ("a = Conv(x, w)\n b = Mul(a, m)\n c = Add(b, m)\n d = Sub(c, m)\n y = Relu(d)", {"m": normal(8, 1, 1)}, "x86.conv+Mul+Add+Sub+Relu"),
    "bounds and operand": ("a = Conv(x, w)\n c = Clip(a, zero, six)\n y = Sub(six, c)", {"zero": ZERO, "six": SIX}, "x86.conv+Clip"),
    "scalar in every role": ("a = Conv(x, w)\n b = Mul(a, half)\n c = Add(b, half)\n d = Clip(c, half, six)\n y = Div(d, half)", {"half": HALF, "six": SIX}, "x86.conv+Mul+Add+Clip"),
    "slope and operand": ("a = Conv(x, w)\n b = PRelu(a, half)\n y = Mul(b, half)", {"half": np.float32([0.5])}, "x86.conv+PRelu"),
    "hard swish by parts": ("a = Conv(x, w)\n s = Add(a, three)\n c = Clip(s, zero, six)\n d = Div(c, six)\n e = Mul(a, d)\n y = Sub(e, six)",
                            {"three": np.float32(3), "zero": ZERO, "six": SIX}, "x86.conv+HardSigmoid+Mul"),
    "swish": ("a = Conv(x, w)\n s = Sigmoid(a)\n y = Mul(a, s)", {}, "x86.conv"),
    "transposed with the weights of another": (f"a = Conv{SAME}(x, w)\n b = Relu(a)\n y = ConvTranspose{SAME}(b, w)", {"w": normal(16, 16, 3, 3, scale=0.2), "x": normal(1, 16, 9, 10)},
                                               "x86.conv_transpose"),
    "depthwise residual": ("a = Conv<group=8, pads=[1,1,1,1]>(x, w)\n b = Add(a, x)\n y = Relu(b)", {"w": normal(8, 1, 3, 3)}, "x86.conv+Add+Relu"),
    "blocks of the same weights": ("\n".join(f"a{i} = Conv({'x' if i == 0 else f'd{i - 1}'}, p)\n r{i} = Relu(a{i})\n b{i} = Conv<group=8, pads=[1,1,1,1]>(r{i}, g)\n s{i} = Relu(b{i})\n"
                                             f"c{i} = Conv(s{i}, p)\n d{i} = Add(c{i}, {'x' if i == 0 else f'd{i - 1}'})" for i in range(2)) + "\n y = Neg(d1)",
                                   {"p": POINT * HALF, "g": normal(8, 1, 3, 3, scale=0.3)}, "x86."),
    "squeeze and excite of itself": ("a = Conv(x, p)\n g = GlobalAveragePool(a)\n f = Conv(g, p)\n s = Sigmoid(f)\n t = Mul(s, s)\n b = Mul(t, a)\n c = Mul(b, t)\n y = Conv(c, p)",
                                     {"p": POINT}, "x86.eltwise"),
    "concatenation with itself": ("a = Conv(x, p)\n b = MaxPool<kernel_shape=[1,1]>(a)\n c = Concat<axis=1>(b, b)\n y = Conv(c, q)", {"p": POINT, "q": normal(8, 16, 1, 1)}, "x86.concat"),
    "normalisation by one vector": (LAST + "y = BatchNormalization(b, v, v, v, v)", {"v": V}, "x86.eltwise"),
    "constants of one vector": (LAST + "c = Mul(b, v)\n d = Sub(v, c)\n y = Div(v, d)", {"v": V.reshape(8, 1, 1) + TWO}, "x86.eltwise"),
    "bound and operand, channels last": (LAST + "c = Clip(b, zero, one)\n d = Sub(one, c)\n y = Mul(d, one)", {"zero": ZERO, "one": ONE}, "x86.eltwise"),
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_and_what_is_around_them(agrees, case):
    text, constants, kernel = CONVOLUTIONS[case]
    weights = {name: array for name, array in {"w": W, **constants}.items() if name != "x" and (f"{name})" in text or f"{name}," in text)}
    model, feeds = small_graph(text, {"x": constants.get("x", X)}, weights)
    assert any(found.startswith(kernel) for found in agrees(model, feeds)), kernel


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Sum"])
def test_one_tensor_twice_in_channels_last_order(agrees, op):
    model, feeds = small_graph(f"{LAST} y = {op}(b, b)", {"x": X}, {"w": W})
    assert agrees(model, feeds)[-1] == "x86.eltwise"


PRODUCTS = {
    "bias of two": ("a = MatMul(x, w)\n b = Add(a, v)\n c = Relu(b)\n d = MatMul(c, w)\n y = Add(d, v)", {"w": SQUARE, "v": normal(8)}, "x86.matmul+Add"),
    "source as residual": ("a = MatMul(x, w)\n b = Add(a, x)\n y = Relu(b)", {"w": SQUARE}, "x86.matmul+Add+Relu"),
    "result twice": ("a = MatMul(x, w)\n y = Add(a, a)", {"w": SQUARE}, "x86.matmul"),
    "residual twice": ("a = MatMul(x, w)\n b = Add(a, x)\n y = Add(b, x)", {"w": SQUARE}, "x86.matmul+Add"),
    "scale and shift": ("a = MatMul(x, w)\n b = Mul(a, v)\n y = Add(b, v)", {"w": SQUARE, "v": normal(8)}, "x86.matmul+Mul+Add"),
    "weights as operand": ("a = MatMul(x, w)\n s = MatMul(a, w)\n t = ReduceSum<keepdims=0>(w)\n y = Mul(s, t)", {"w": SQUARE}, "x86.matmul"),
    "one matrix both ways round": ("a = Gemm<transB=1>(x, w, v)\n b = Relu(a)\n y = Gemm(b, w, v)", {"w": SQUARE, "v": normal(8)}, "x86.matmul"),
    "third input as residual": ("a = Gemm(x, w, v)\n y = Add(a, v)", {"w": SQUARE, "v": normal(8)}, "x86.matmul+Add"),
    "gelu by parts": ("a = MatMul(x, w)\n b = Div(a, root)\n c = Erf(b)\n d = Add(c, one)\n e = Mul(a, d)\n f = Mul(e, half)\n y = Sub(one, f)",
                      {"w": SQUARE, "root": np.float32(2**0.5), "one": ONE, "half": HALF}, "x86.matmul"),
    "gelu of one half": ("a = MatMul(x, w)\n b = Mul(a, half)\n c = Erf(b)\n d = Add(c, half)\n e = Mul(b, d)\n y = Mul(e, half)", {"w": SQUARE, "half": HALF}, "x86.matmul"),
    "layer normalisation": ("a = MatMul(x, w)\n b = LayerNormalization(a, v, v)\n c = Add(b, v)\n y = MatMul(c, w)", {"w": SQUARE, "v": normal(8)}, "x86.matmul"),
    "layer normalisation by parts": ("m = ReduceMean<keepdims=1>(x, axes)\n d = Sub(x, m)\n p = Pow(d, two)\n q = ReduceMean<keepdims=1>(p, axes)\n r = Add(q, two)\n s = Sqrt(r)\n t = Div(d, s)\n"
                                     "u = Mul(t, v)\n n = Add(u, v)\n y = MatMul(n, w)", {"w": SQUARE, "v": normal(8), "two": TWO, "axes": np.array([-1], np.int64)}, "x86.matmul"),
}


@pytest.mark.parametrize("case", PRODUCTS)
def test_products_and_what_is_around_them(agrees, case):
    text, constants, kernel = PRODUCTS[case]
    for rows in (1, 5, 130):
        model, feeds = small_graph(text, {"x": normal(rows, 8)}, constants)
        assert any(found.startswith(kernel) for found in agrees(model, feeds)), kernel


DYNAMIC = {
    "matrix by itself": "y = MatMul(x, x)",
    "matrix by itself and added": "a = MatMul(x, x)\n y = Add(a, x)",
    "matrix and its transpose": "t = Transpose<perm=[1,0]>(x)\n a = MatMul(x, t)\n y = Add(a, t)",
    "all of one": "a = Gemm(x, x, x)\n y = Relu(a)",
    "result by itself": "a = MatMul(x, x)\n y = MatMul(a, a)",
}


@pytest.mark.parametrize("case", DYNAMIC)
def test_products_of_a_tensor_with_itself(agrees, case):
    model, feeds = small_graph(DYNAMIC[case], {"x": normal(128, 128, scale=0.1)})
    agrees(model, feeds)


HEADS = normal(2, 4, 33, 32)
ATTENTION = {
    "one tensor for all": "t = Transpose<perm=[0,1,3,2]>(x)\n a = MatMul(x, t)\n b = Mul(a, c)\n p = Softmax<axis=-1>(b)\n y = MatMul(p, x)",
    "keys that are values": "q = Neg(x)\n t = Transpose<perm=[0,1,3,2]>(x)\n a = MatMul(q, t)\n b = Mul(a, c)\n p = Softmax<axis=-1>(b)\n o = MatMul(p, x)\n y = Add(o, x)",
    "mask of the scale": "t = Transpose<perm=[0,1,3,2]>(x)\n a = MatMul(x, t)\n b = Mul(a, c)\n m = Add(b, c)\n p = Softmax<axis=-1>(m)\n o = MatMul(p, x)\n y = Mul(o, c)",
    "queries that are scaled": "q = Mul(x, c)\n k = Mul(x, c)\n t = Transpose<perm=[0,1,3,2]>(k)\n a = MatMul(q, t)\n p = Softmax<axis=-1>(a)\n y = MatMul(p, x)",
}


@pytest.mark.parametrize("case", ATTENTION)
def test_attention_of_one_tensor(agrees, case):
    model, feeds = small_graph(ATTENTION[case], {"x": HEADS}, {"c": np.float32(0.2)})
    assert "x86.attention" in agrees(model, feeds)


def test_attention_operator_of_one_tensor(agrees):
    model, feeds = small_graph("a = Attention(x, x, x)\n y = Add(a, x)", {"x": HEADS}, {}, opset=23)
    assert "x86.attention" in agrees(model, feeds)


@pytest.mark.parametrize("op, gates", [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrent_layers_of_one_set_of_weights(agrees, op, gates):
    reset = ", linear_before_reset=1" if op == "GRU" else ""
    states = "h, h" if op == "LSTM" else "h"
    model, feeds = small_graph(f"a, b = {op}<hidden_size=16{reset}>(x, w, w, v, , {states})\n s = Squeeze(a, one)\n y, z = {op}<hidden_size=16{reset}>(s, w, w, v, , {states})",
                               {"x": normal(4, 3, 16), "h": normal(1, 3, 16)}, {"w": normal(1, gates * 16, 16, scale=0.3), "v": normal(1, 2 * gates * 16), "one": np.array([1], np.int64)})
    assert agrees(model, feeds).count("x86.recurrent") == 2


# One scale and one zero point for everything; `q` is read twice.
NUMBERS = {"s": np.float32(0.05), "z": zero(U8, 128)}
INT8_WEIGHTS = {"w": random8(U8, 8, 8, 1, 1), "m": random8(U8, 8, 8)}
READ = "a = DequantizeLinear(q, s, z)\n b = DequantizeLinear(q, s, z)\n "
INT8 = {
    "sum of one": (READ + "c = Add(a, b)\n y = QuantizeLinear(c, s, z)", ["x86.int8_lookup"]),
    "sum of one read": ("a = DequantizeLinear(q, s, z)\n c = Add(a, a)\n y = QuantizeLinear(c, s, z)", None),
    "product of one": (READ + "c = Mul(a, b)\n d = Mul(c, s)\n y = QuantizeLinear(d, s, z)", None),
    "difference of one": (READ + "c = Sub(a, b)\n y = QuantizeLinear(c, s, z)", None),
    "gate of one": (READ + "c = Sigmoid(a)\n d = QuantizeLinear(c, s, z)\n e = DequantizeLinear(d, s, z)\n f = Mul(b, e)\n y = QuantizeLinear(f, s, z)", ["x86.int8_lookup"]),
    "scale as operand": ("a = DequantizeLinear(q, s, z)\n c = Add(a, s)\n d = Relu(c)\n y = QuantizeLinear(d, s, z)", ["x86.int8_lookup"]),
    "concatenation of one": (READ + "c = Concat<axis=1>(a, b)\n y = QuantizeLinear(c, s, z)", None),
    "convolution of one scale": ("a = DequantizeLinear(q, s, z)\n f = DequantizeLinear(w, s, z)\n c = Conv(a, f)\n d = Relu(c)\n y = QuantizeLinear(d, s, z)", ["x86.conv.int8+Relu"]),
    "source as residual": ("a = DequantizeLinear(q, s, z)\n f = DequantizeLinear(w, s, z)\n c = Conv(a, f)\n d = Add(c, a)\n y = QuantizeLinear(d, s, z)", ["x86.conv.int8+Add"]),
    "source read again as residual": (READ + "f = DequantizeLinear(w, s, z)\n c = Conv(a, f)\n d = Add(b, c)\n y = QuantizeLinear(d, s, z)", ["x86.conv.int8+Add"]),
    "weights of two": ("a = DequantizeLinear(q, s, z)\n f = DequantizeLinear(w, s, z)\n g = DequantizeLinear(w, s, z)\n c = Conv(a, f)\n d = QuantizeLinear(c, s, z)\n e = DequantizeLinear(d, s, z)\n"
                       "h = Conv(e, g)\n y = QuantizeLinear(h, s, z)", ["x86.conv.int8"]),
    "operator of one scale": ("y = QLinearConv(q, s, z, w, s, z, s, z)", ["x86.conv.int8"]),
    "matrix of one scale": ("a = DequantizeLinear(p, s, z)\n f = DequantizeLinear(m, s, z)\n c = MatMul(a, f)\n y = QuantizeLinear(c, s, z)", ["x86.matmul.int8"]),
    "matrix operator of one scale": ("y = QLinearMatMul(p, s, z, m, s, z, s, z)", ["x86.matmul.int8"]),
}


@pytest.mark.parametrize("case", INT8)
def test_int8_of_one_scale(agrees, case):
    text, kernels = INT8[case]
    constants = {name: array for name, array in {**NUMBERS, **INT8_WEIGHTS}.items() if f" {name}," in text or f" {name})" in text or f"({name}," in text}
    inputs = {"p": random8(U8, 5, 8)} if "(p," in text else {"q": random8(U8, 2, 8, 9, 7)}
    if kernels:
        check_int8(text, inputs, constants, kernels, 1)
        return
    model, feeds = small_graph(text, inputs, constants)
    agrees(model, feeds, rtol=0, atol=1)


def test_two_integer_products_of_one_matrix(agrees):
    text = ("q, s, z = DynamicQuantizeLinear(x)\n a = MatMulInteger(q, w, z)\n b = Cast<to=1>(a)\n c = Mul(s, sw)\n d = Mul(b, c)\n"
            "e = MatMulInteger(q, w, z)\n f = Cast<to=1>(e)\n g = Mul(f, c)\n y = Add(d, g)")
    model, feeds = small_graph(text, {"x": ROWS}, {"w": random8(S8, 8, 24), "sw": np.float32(0.01)})
    assert any(kernel.startswith("x86.matmul_integer") for kernel in agrees(model, feeds))


def test_what_is_fused_is_an_output_too(agrees):
    """And a constant is handed out that a fusion reads when it is compiled."""
    model, feeds = small_graph("a = Conv(x, w)\n b = Relu(a)\n y = Neg(b)\n z = Identity(a)\n u = Identity(w)", {"x": X}, {"w": W})
    agrees(model, feeds)
