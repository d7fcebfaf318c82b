# SPDX-License-Identifier: Apache-2.0
"""MatMul and Gemm of two tensors of the run, by the library where it has code for them."""

import os

import numpy as np
import pytest

from cpu_flags import CPU_FLAGS
from small_graph import small_graph

pytestmark = pytest.mark.skipif("avx512bw" not in CPU_FLAGS or
                                os.environ.get("ONEDNN_MAX_CPU_ISA", "AVX512_CORE") in ("SSE41", "AVX2", "AVX2_VNNI"),
                                reason="the library has no code for them without AVX-512")


def random(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape, np.float32)


@pytest.mark.parametrize("left, right", [
    ((100, 70), (70, 90)), ((12, 33, 64), (12, 64, 49)), ((2, 3, 64, 40), (2, 3, 40, 50)), ((5, 40, 64), (64, 70)), ((2, 30, 100), (1, 100, 90)),
    ((1, 16, 16), (1, 16, 2050)),
])
def test_matmul(agrees, left, right):
    agrees(*small_graph("y = MatMul(a, b)", {"a": random(*left), "b": random(*right)}), ["x86.dynamic_matmul"])


@pytest.mark.parametrize("attributes", ["", "transA=1", "transB=1", "transA=1, transB=1"])
@pytest.mark.parametrize("bias", [None, (90,), (1, 90), ()])
def test_gemm(agrees, attributes, bias):
    a = random(70, 100) if "transA" in attributes else random(100, 70)
    b = random(90, 70) if "transB" in attributes else random(70, 90)
    model, feeds = small_graph(f"y = Gemm{f'<{attributes}>' if attributes else ''}(a, b{', c' if bias is not None else ''})", {"a": a, "b": b},
                               {} if bias is None else {"c": random(*bias)})
    agrees(model, feeds, ["x86.dynamic_matmul"])


def test_what_it_takes_along(agrees):
    text = "m = MatMul(a, b)\n r = Relu(m)\n y = Add(r, s)"
    model, feeds = small_graph(text, {"a": random(3, 100, 70), "b": random(3, 70, 90), "s": random(3, 100, 90)})
    agrees(model, feeds, ["x86.dynamic_matmul+Relu+Add"] * 3)


def test_an_addend_whose_memory_the_result_takes(agrees):
    model, feeds = small_graph("p = MatMul(a, b)\n q = MatMul(p, b)\n y = Add(q, p)", {"a": random(90, 90), "b": random(90, 90, seed=1)})
    agrees(model, feeds, ["x86.dynamic_matmul", *["x86.dynamic_matmul+Add"] * 2])


@pytest.mark.parametrize("left, right, text", [
    ((20, 30), (30, 40), "y = MatMul(a, b)"),  # small
    ((3, 100, 70), (2, 3, 70, 90), "y = MatMul(a, b)"),
    ((2, 3, 100, 70), (2, 1, 70, 90), "y = MatMul(a, b)"),
    ((8, 300), (300, 400), "y = MatMul(a, b)"),  # few rows
    ((100, 70), (70, 90), "y = Gemm<alpha=2.0>(a, b)"),
    ((100, 70), (70, 90), "y = Gemm(a, b, a2)"),
])
def test_what_is_left_to_others(agrees, left, right, text):
    inputs = {"a": random(*left), "b": random(*right)}
    if "a2" in text:
        inputs["a2"] = random(left[0], right[1])
    kernels = agrees(*small_graph(text, inputs))
    assert kernels == [text.split("= ")[1].split("(")[0].split("<")[0]]


def test_extents_that_are_not_known_before(agrees):
    inputs = {"a": (random(100, 70), ["n", 70]), "b": random(70, 90)}
    assert agrees(*small_graph("y = MatMul(a, b)", inputs)) == ["MatMul"]
