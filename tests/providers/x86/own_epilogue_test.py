# SPDX-License-Identifier: Apache-2.0
"""Numbers that the library's post-operations lose: what is no number, and infinity, behind its convolutions and products.

Each case is one whose primitive the library makes on some level of instructions; where a kernel of the provider's own takes it, the same holds.
"""

import numpy as np
import onnxruntime
import pytest

import gantry
from small_graph import small_graph

NONE, MANY, LEAST = np.nan, np.inf, -3e38


def random(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


ACTIVATIONS = {
    "Relu": "{y} = Relu({x})",
    "LeakyRelu": "{y} = LeakyRelu<alpha=0.1>({x})",
    "Clip": "{y} = Clip({x}, low, high)",
    "HardSigmoid": "{y} = HardSigmoid({x})",
    "HardSwish": "{y} = HardSwish({x})",
    "Sigmoid": "{y} = Sigmoid({x})",
    "Swish": "gate = Sigmoid({x})\n {y} = Mul({x}, gate)",
    "Tanh": "{y} = Tanh({x})",
    "Elu": "{y} = Elu<alpha=0.7>({x})",
    "Mish": "{y} = Mish({x})",
    "Gelu": "{y} = Gelu({x})",
    "GeluTanh": '{y} = Gelu<approximate="tanh">({x})',
}

ROOTS = {  # text, weights, and the extents of what it makes of [2, 32, 9, 9]
    "3x3": ("Conv<pads=[1,1,1,1]>(x, w)", (24, 32, 3, 3), (9, 9)),
    "strided": ("Conv<strides=[2,2]>(x, w)", (24, 32, 3, 3), (4, 4)),
    "1x1": ("Conv(x, w)", (24, 32, 1, 1), (9, 9)),
    "grouped": ("Conv<group=4>(x, w)", (24, 8, 3, 3), (7, 7)),
    "dilated": ("Conv<dilations=[2,2]>(x, w)", (24, 32, 3, 3), (5, 5)),
    "transposed": ("ConvTranspose(x, w)", (32, 24, 3, 3), (11, 11)),
    "MatMul": ("MatMul(x, w)", (9, 24), None),
}


def oracle(model, feeds):
    """As the operators are written, one by one."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)[0]


def case(root, activation, addition, x, weights=None, addend=None):
    call, dims, plane = ROOTS[root]
    shape = (2, 24, *plane) if plane else (2, 32, 9, 24)
    apply = ACTIVATIONS[activation]
    text = {"none": f"c = {call}\n {apply.format(x='c', y='y')}",
            "before": f"c = {call}\n d = Add(c, z)\n {apply.format(x='d', y='y')}",
            "behind": f"c = {call}\n {apply.format(x='c', y='d')}\n y = Add(d, z)"}[addition]
    feeds = {"x": x}
    if addition != "none":
        feeds["z"] = random(*shape) if addend is None else addend
    constants = {"w": weights if weights is not None else random(*dims) * 0.1, "low": np.float32(-1), "high": np.float32(6)}
    return small_graph(text, feeds, constants, opset=22)


def assert_same(model, feeds, threads):
    expected = oracle(model, feeds)
    session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
    for _ in range(2):
        np.testing.assert_allclose(session.run(feeds)["y"], expected, rtol=1e-4, atol=1e-4)


def odd(x, *values):
    for i, value in enumerate(values):
        x[i % 2, 5 + i, 2 + i, 3] = value
    return x


@pytest.mark.parametrize("addition", ["none", "before", "behind"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("root", ROOTS)
def test_what_is_no_number_stays_so(root, activation, addition):
    model, feeds = case(root, activation, addition, odd(random(2, 32, 9, 9), NONE, MANY, -MANY, LEAST, -LEAST))
    assert_same(model, feeds, threads=1 + len(addition) % 2)


@pytest.mark.parametrize("root", ROOTS)
def test_what_is_added_is_no_number(root):
    plane = ROOTS[root][2]
    addend = odd(random(2, 24, *plane) if plane else random(2, 32, 9, 24), NONE, -MANY)
    model, feeds = case(root, "Relu", "before", random(2, 32, 9, 9), addend=addend)
    assert_same(model, feeds, threads=2)


@pytest.mark.parametrize("value", [NONE, MANY, LEAST])
@pytest.mark.parametrize("root", ROOTS)
def test_weights_that_are_no_numbers(root, value):
    weights = random(*ROOTS[root][1])
    weights.reshape(-1)[4] = value  # the middle of a window: whether padding times what is no number counts is left open
    model, feeds = case(root, "Relu", "none", random(2, 32, 9, 9), weights=weights)
    assert_same(model, feeds, threads=1)


@pytest.mark.parametrize("order", ["Relu(s)", "Sigmoid(s)"])
def test_the_result_stands_where_the_addend_stood(order):
    """What is added is read by nobody else, and the next convolution reads the sum as it stands: the primitive writes over it."""
    text = f"c = Conv<strides=[2,2]>(x, w)\n d = Conv<strides=[2,2]>(x, v)\n s = Add(c, d)\n r = {order}\n y = Conv(r, u)"
    constants = {"w": random(32, 32, 3, 3) * 0.1, "v": random(32, 32, 3, 3) * 0.2, "u": random(32, 32, 1, 1) * 0.1}
    model, feeds = small_graph(text, {"x": odd(random(2, 32, 9, 9), NONE, -LEAST)}, constants, opset=22)
    assert_same(model, feeds, threads=1)


def test_runs_with_and_without_by_turns():
    """A session has both variants; what is odd in one run leaves no trace in the next."""
    model, feeds = case("strided", "Clip", "before", random(2, 32, 9, 9))
    session = gantry.Session(model, device="CPU")
    usual = session.run(feeds)["y"]
    strange = {**feeds, "x": odd(feeds["x"].copy(), NONE)}
    assert np.isnan(session.run(strange)["y"]).any()
    np.testing.assert_array_equal(session.run(feeds)["y"], usual)
