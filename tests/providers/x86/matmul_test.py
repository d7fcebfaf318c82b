# SPDX-License-Identifier: Apache-2.0
"""MatMul and Gemm whose second matrix is constant, with what they take along."""

import numpy as np
import pytest

import gantry
from small_graph import small_graph


def random(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape, np.float32)


@pytest.mark.parametrize("left", [(1, 40), (7, 40), (2, 3, 40), (2, 1, 5, 40), (130, 40)])
def test_matmul(agrees, left):
    model, feeds = small_graph("y = MatMul(x, w)", {"x": random(*left)}, {"w": random(40, 33)})
    agrees(model, feeds, ["x86.matmul"])


@pytest.mark.parametrize("attributes, bias", [
    ("", None), ("", (33,)), ("", (1, 33)), ("", (1,)), ("", ()), ("<transB=1>", (33,)), ("<alpha=0.5, beta=2.0>", (33,)),
    ("<alpha=0.3, transB=1>", None),
])
def test_gemm(agrees, attributes, bias):
    w = random(33, 40) if "transB" in attributes else random(40, 33)
    constants = {"w": w, **({"b": random(*bias, seed=1)} if bias is not None else {})}
    model, feeds = small_graph(f"y = Gemm{attributes}(x, w{', b' if bias is not None else ''})", {"x": random(6, 40)}, constants)
    agrees(model, feeds, ["x86.matmul"])


@pytest.mark.parametrize("text", [
    "a = MatMul(x, w)\n y = Add(a, b)",
    "a = MatMul(x, w)\n c = Add(b, a)\n y = Gelu(c)",
    "a = MatMul(x, w)\n c = Mul(a, s)\n d = Add(c, b)\n e = Add(d, r)\n y = Relu(e)",
    "a = Gemm(x, w, b)\n c = Tanh(a)\n y = Add(r, c)",
])
def test_what_a_product_takes_along(agrees, text):
    inputs = {"x": random(9, 40), **({"r": random(9, 33)} if "r)" in text or "(r" in text else {})}
    model, feeds = small_graph(text, inputs, {"w": random(40, 33), "b": random(33), "s": np.float32(0.25)})
    kernels = agrees(model, feeds)
    assert len(set(kernels)) == 1 and kernels[0].startswith("x86.matmul+"), kernels


@pytest.mark.parametrize("text, reason", [
    ("y = MatMul(x, z)", "not constant"),
    ("y = Gemm<transA=1>(x, v)", "transposed"),
    ("y = Gemm(x, w, r)", "not a constant row"),
])
def test_what_it_leaves_to_others(text, reason):
    inputs = {"x": random(9, 40), **({"z": random(40, 33)} if "z)" in text else {}), **({"r": random(9, 33)} if "r)" in text else {})}
    model, _ = small_graph(text, inputs, {"w": random(40, 33), "v": random(9, 33)})
    (node,) = gantry.Session(model, device="CPU").placement.nodes
    assert node.provider == "cpu" and reason in node.reason


def test_another_inner_extent_than_the_matrix_has():
    model, _ = small_graph("y = MatMul(x, w)", {"x": (random(2, 40), [2, "k"])}, {"w": random(40, 33)})
    session = gantry.Session(model, device="CPU")
    with pytest.raises(gantry.InvalidArgumentError, match="expected to be 40, that of the rows of input 1, and is 39"):
        session.run({"x": random(2, 39)})


def test_no_rows():
    model, _ = small_graph("y = MatMul(x, w)", {"x": (random(2, 40), ["n", 40])}, {"w": random(40, 33)})
    assert gantry.Session(model, device="CPU").run({"x": np.zeros((0, 40), np.float32)})["y"].shape == (0, 33)
