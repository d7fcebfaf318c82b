# SPDX-License-Identifier: Apache-2.0
"""Products of floats with a constant matrix in panels: every height of a tile, every width of the last panel, and what follows them."""

import math

import numpy as np
import pytest

import gantry
from small_graph import small_graph


def random(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape, np.float32)


def matrix(inner, columns):
    return random(inner, columns, seed=7) / np.float32(np.sqrt(inner))


@pytest.mark.parametrize("rows", [*range(1, 16), 27, 28, 29, 200, 450])
def test_rows(agrees, rows):
    """450: several stretches, of which none is full."""
    agrees(*small_graph("y = MatMul(x, w)", {"x": random(rows, 37)}, {"w": matrix(37, 100)}), ["x86.matmul"])


@pytest.mark.parametrize("columns", [11, 15, 16, 17, 31, 32, 33, 48, 49, 63, 64, 129, 1000])
@pytest.mark.parametrize("rows", [1, 9, 40])
def test_columns(agrees, rows, columns):
    agrees(*small_graph("y = MatMul(x, w)", {"x": random(rows, 20)}, {"w": matrix(20, columns)}), ["x86.matmul"])


@pytest.mark.parametrize("inner", [1, 15, 16, 17, 1024, 1025, 5000])
@pytest.mark.parametrize("rows", [1, 3, 33])
def test_inner_extents(agrees, rows, inner):
    """The longest are multiplied in parts."""
    agrees(*small_graph("y = MatMul(x, w)", {"x": random(rows, inner)}, {"w": matrix(inner, 72)}), ["x86.matmul"], atol=2e-5)


@pytest.mark.parametrize("inner, columns", [(40, 70), (17, 33), (130, 16)])
def test_transposed_and_scaled(agrees, inner, columns):
    constants = {"w": np.ascontiguousarray(matrix(inner, columns).T), "b": random(columns)}
    agrees(*small_graph("y = Gemm<alpha=0.3, beta=2.0, transB=1>(x, w, b)", {"x": random(19, inner)}, constants), ["x86.matmul"])


FUNCTIONS = {
    "Relu": "Relu(p)", "LeakyRelu": "LeakyRelu<alpha=0.3>(p)", "Clip": "Clip(p, low, high)", "Sigmoid": "Sigmoid(p)", "Tanh": "Tanh(p)",
    "Gelu": "Gelu(p)", "Gelu_tanh": 'Gelu<approximate="tanh">(p)', "HardSigmoid": "HardSigmoid<alpha=0.3>(p)", "HardSwish": "HardSwish(p)",
    "Elu": "Elu(p)",
}


@pytest.mark.parametrize("columns", [64, 100, 300])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions(agrees, function, columns):
    text = f"a = MatMul(x, w)\n p = Add(a, b)\n y = {FUNCTIONS[function]}"
    bounds = {"low": np.float32(-0.5), "high": np.float32(2)} if function == "Clip" else {}
    (kernel,) = set(agrees(*small_graph(text, {"x": random(21, 24)}, {"w": matrix(24, columns) * 6, "b": random(columns), **bounds})))
    assert kernel.startswith("x86.matmul+")


def test_a_gate(agrees):
    text = "p = MatMul(x, w)\n s = Sigmoid(p)\n y = Mul(p, s)"
    (kernel,) = set(agrees(*small_graph(text, {"x": random(21, 24)}, {"w": matrix(24, 100) * 6})))
    assert kernel.startswith("x86.matmul+")


def test_the_tails_of_gelu():
    """The identity lets the function's own argument through."""
    model, feeds = small_graph("p = MatMul(x, w)\n y = Gelu(p)", {"x": np.zeros((1, 32), np.float32)}, {"w": np.eye(32, dtype=np.float32)})
    values = np.float32([0, -0.0, 1e-20, -1e-20, 0.5, -0.5, 1, -1, 3, -3, 5, -5, -6, 8, -8, -12, 50, -50, 1e30, -1e30])
    feeds["x"] = np.pad(values, (0, 32 - values.size))[None]
    got = gantry.Session(model, device="CPU").run(feeds)["y"][0, :values.size].astype(np.float64)
    exact = np.array([x / 2 * math.erfc(-x / 2 ** 0.5) for x in values.astype(np.float64)])
    np.testing.assert_allclose(got, exact, rtol=3e-7, atol=6e-7)


ADDITIONS = {
    "first": "a = MatMul(x, w)\n q = Neg(r)\n s = Add(a, q)\n p = Relu(s)\n y = Neg(p)",
    "later": "a = MatMul(x, w)\n t = Tanh(a)\n q = Neg(r)\n p = Add(t, q)\n y = Neg(p)",
    "between": "a = MatMul(x, w)\n t = Tanh(a)\n q = Neg(r)\n s = Add(t, q)\n p = Relu(s)\n y = Neg(p)",
    "kept": "a = MatMul(x, w)\n t = Tanh(a)\n y = Add(t, r)",
}


@pytest.mark.parametrize("rows, columns", [(1, 33), (20, 64), (33, 100), (300, 45)])
@pytest.mark.parametrize("addition", ADDITIONS)
def test_a_tensor_is_added(agrees, addition, rows, columns):
    """What Neg makes is read by nobody else, so that the result may stand in its place."""
    feeds = {"x": random(rows, 40), "r": random(rows, columns)}
    kernels = agrees(*small_graph(ADDITIONS[addition], feeds, {"w": matrix(40, columns)}))
    assert any(kernel.startswith("x86.matmul+") for kernel in kernels)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_any_number_of_threads(threads):
    feeds = {"x": random(61, 700)}
    model, feeds = small_graph("a = MatMul(x, w)\n y = Gelu(a)", feeds, {"w": matrix(700, 530)})
    one, many = (gantry.Session(model, device="CPU", config={"session": {"threads": n}}).run(feeds)["y"] for n in (1, threads))
    np.testing.assert_allclose(one, many, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("text", ["a = MatMul(x, w)\n t = Tanh(a)\n y = Add(t, r)", "a = MatMul(x, w)\n y = Add(a, r)"])
@pytest.mark.parametrize("columns", [70, 300])
@pytest.mark.parametrize("inner", [40, 2500])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_stretches_of_many_rows(threads, inner, columns, text):
    """Of as many stretches as threads each is a task with all columns, of fewer only where the matrix is small, else threads may share a panel; long rows are multiplied in parts."""
    shapes = {"x": (random(5, inner), ["n", inner]), "r": (random(5, columns), ["n", columns])}
    model, _ = small_graph(text, shapes, {"w": matrix(inner, columns)})
    session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
    for rows in (1, 2, 15, 230, 500, 1200):
        x, r = random(rows, inner), random(rows, columns)
        sums = x.astype(np.float64) @ matrix(inner, columns)
        expected = (np.tanh(sums) if "Tanh" in text else sums) + r
        np.testing.assert_allclose(session.run({"x": x, "r": r})["y"], expected, rtol=1e-4, atol=1e-4)


def test_rows_change_from_run_to_run(agrees):
    model, feeds = small_graph("y = MatMul(x, w)", {"x": (random(5, 40), ["n", 40])}, {"w": matrix(40, 50)})
    session = gantry.Session(model, device="CPU")
    for rows in (5, 1, 90, 14, 0, 300):
        x = random(rows, 40)
        np.testing.assert_allclose(session.run({"x": x})["y"], x @ matrix(40, 50), rtol=1e-5, atol=1e-5)
    agrees(model, feeds, ["x86.matmul"])
