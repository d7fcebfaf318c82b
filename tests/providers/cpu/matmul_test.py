# SPDX-License-Identifier: Apache-2.0
"""Gemm and MatMul: shapes, broadcasting, transposition, factors and element types."""

import numpy as np
import pytest

import gantry
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry, run_oracle

TYPES = ["float", "double", "float16", "bfloat16", "int32", "int64", "uint32", "uint64"]
TOLERANCE = {"float": 1e-5, "double": 1e-11, "float16": 4e-3, "bfloat16": 2e-2}


def random(shape, name="float", seed=0):
    generator = np.random.default_rng(seed)
    if name.startswith("u"):
        return generator.integers(0, 100, shape).astype(NUMPY_OF[name])
    if name.startswith("int"):
        return generator.integers(-100, 100, shape).astype(NUMPY_OF[name])
    return generator.standard_normal(shape).astype(NUMPY_OF[name])


def product(a, b):
    """The product in a wide type, rounded once."""
    wide = np.float64 if a.dtype.kind in "fV" else a.dtype
    return np.matmul(a.astype(wide), b.astype(wide)).astype(a.dtype)


SHAPES = [
    ((3, 4), (4, 5)),
    ((4,), (4,)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (1, 6, 4, 5)),
    ((5, 2, 1, 3, 4), (2, 3, 4, 2)),
    ((1, 1, 3, 4), (4, 5)),
    ((1, 300), (300, 200)),
    ((300, 200), (200, 1)),
    ((7, 130, 70), (7, 70, 90)),
    ((2, 0), (0, 3)),
    ((0, 4), (4, 3)),
    ((3, 0, 4), (4, 2)),
]


@pytest.mark.parametrize("a, b", SHAPES)
def test_matmul_shapes(a, b):
    a, b = random(a), random(b, seed=1)
    model, feeds = node_model("MatMul", [a, b], [1], 13)
    compare(run_gantry(model, feeds), [product(a, b)], 1e-4, 1e-4)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("a, b", [((2, 37, 65), (65, 71)), ((1, 64), (64, 9)), ((2, 5, 700), (2, 700, 3))])
def test_matmul_types(a, b, name):
    a, b = random(a, name), random(b, name, 1)
    model, feeds = node_model("MatMul", [a, b], [element_type(a)], 13)
    tolerance = TOLERANCE.get(name, 0) * 10
    compare(run_gantry(model, feeds), [product(a, b)], tolerance, tolerance)


@pytest.mark.parametrize("m, n, k", [(1, 1000, 700), (700, 1, 900), (129, 257, 300), (1000, 3, 400), (3, 1000, 400)])
def test_matmul_split_over_threads(m, n, k):
    a, b = random((m, k)), random((k, n), seed=1)
    model, feeds = node_model("MatMul", [a, b], [1], 13, constants=(1,))
    compare(run_gantry(model, feeds), [product(a, b)], 1e-4, 2e-4)


def test_integers_wrap():
    a = np.full((1, 3), 2**31 - 1, np.int32)
    b = np.full((3, 1), 2**31 - 1, np.int32)
    model, feeds = node_model("MatMul", [a, b], [element_type(a)], 9)
    assert run_gantry(model, feeds)[0][0, 0] == 3


@pytest.mark.parametrize("a, b", [((3, 4), (5, 6)), ((2, 3, 4), (3, 4, 5)), ((), (3,))])
def test_matmul_refuses(a, b):
    model, feeds = node_model("MatMul", [random(a), random(b)], [1], 13)
    with pytest.raises(gantry.Error, match="MatMul"):
        run_gantry(model, feeds)


@pytest.mark.parametrize("c", [None, (), (1,), (7,), (1, 7), (6, 1), (6, 7)])
@pytest.mark.parametrize("transpose_a", [0, 1])
@pytest.mark.parametrize("transpose_b", [0, 1])
def test_gemm(c, transpose_a, transpose_b):
    a = random((5, 6) if transpose_a else (6, 5))
    b = random((7, 5) if transpose_b else (5, 7), seed=1)
    c = None if c is None else random(c, seed=2)
    attributes = {"transA": transpose_a, "transB": transpose_b, "alpha": 0.5, "beta": 2.0}
    model, feeds = node_model("Gemm", [a, b] + ([] if c is None else [c]), [1], 13, attributes)
    compare(run_gantry(model, feeds), run_oracle(model, feeds), 1e-5, 1e-5)


@pytest.mark.parametrize("m, n", [(1, 9), (9, 1), (1, 1), (64, 300)])
@pytest.mark.parametrize("transpose_a", [0, 1])
@pytest.mark.parametrize("transpose_b", [0, 1])
def test_gemm_of_vectors(m, n, transpose_a, transpose_b):
    a = random((200, m) if transpose_a else (m, 200))
    b = random((n, 200) if transpose_b else (200, n), seed=1)
    attributes = {"transA": transpose_a, "transB": transpose_b}
    model, feeds = node_model("Gemm", [a, b, random((n,), seed=2)], [1], 13, attributes)
    compare(run_gantry(model, feeds), run_oracle(model, feeds), 1e-4, 1e-4)


@pytest.mark.parametrize("name", TYPES)
def test_gemm_types(name):
    a, b, c = random((11, 13), name), random((13, 9), name, 1), random((9,), name, 2)
    model, feeds = node_model("Gemm", [a, b, c], [element_type(a)], 13, {"alpha": 2.0, "beta": 3.0})
    wide = np.float64 if name in TOLERANCE else a.dtype
    expected = (2 * np.matmul(a.astype(wide), b.astype(wide)) + 3 * c.astype(wide)).astype(a.dtype)
    tolerance = TOLERANCE.get(name, 0) * 5
    compare(run_gantry(model, feeds), [expected], tolerance, tolerance)


@pytest.mark.parametrize("opset", [1, 6, 7, 9, 11])
def test_gemm_of_old_versions(opset):
    attributes = {"broadcast": 1} if opset < 7 else {}
    model, feeds = node_model("Gemm", [random((3, 4)), random((4, 5), seed=1), random((5,), seed=2)], [1], opset, attributes)
    x = list(feeds.values())
    compare(run_gantry(model, feeds), [x[0] @ x[1] + x[2]], 1e-5, 1e-5)


@pytest.mark.parametrize("a, b, c", [((3, 4), (5, 6), (6,)), ((3, 4), (4, 5), (4,)), ((3, 4), (4, 5), (3,)),
                                     ((1, 3, 4), (4, 5), (5,)), ((3, 4), (4, 5), (1, 3, 5))])
def test_gemm_refuses(a, b, c):
    model, feeds = node_model("Gemm", [random(a), random(b), random(c)], [1], 13)
    with pytest.raises(gantry.Error, match="Gemm"):
        run_gantry(model, feeds)
