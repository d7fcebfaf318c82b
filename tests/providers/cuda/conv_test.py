# SPDX-License-Identifier: Apache-2.0
"""Convolutions: as products of tiles, and of few channels one place at a time."""

import numpy as np
import pytest
from small_graph import small_graph


def random(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


CASES = {
    "plain": ((2, 6, 11, 12), (10, 6, 3, 3), "group=1"),
    "one_by_one": ((1, 20, 9, 9), (70, 20, 1, 1), "group=1"),
    "padded": ((1, 6, 9, 8), (8, 6, 3, 3), "pads=[1,2,0,1]"),
    "strided": ((1, 6, 19, 18), (8, 6, 3, 5), "strides=[2,3], pads=[1,1,1,1]"),
    "dilated": ((1, 6, 19, 18), (8, 6, 3, 3), "dilations=[2,3]"),
    "same": ((1, 6, 19, 18), (8, 6, 4, 4), 'auto_pad="SAME_UPPER", strides=[2,2]'),
    "groups": ((2, 12, 9, 9), (24, 6, 3, 3), "group=2"),
    "small_groups": ((2, 12, 9, 9), (12, 3, 3, 3), "group=4"),
    "depthwise": ((1, 12, 9, 9), (12, 1, 3, 3), "group=12"),
    "line": ((2, 6, 40), (9, 6, 5), "strides=[2]"),
    "room": ((1, 4, 6, 7, 8), (9, 4, 3, 2, 3), "pads=[1,0,1,1,0,1]"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_conv(agrees, case, dtype):
    x, w, attributes = CASES[case]
    weights = (random(*w, seed=1) / 4).astype(dtype)
    bias = random(w[0], dtype=dtype, seed=2)
    agrees(*small_graph(f"y = Conv<{attributes}>(x, w, b)\n z = Conv<{attributes}>(x, w)", {"x": random(*x, dtype=dtype)}, {"w": weights, "b": bias}),
           rtol=1e-2 if dtype == np.float16 else 1e-4, atol=1e-2 if dtype == np.float16 else 1e-4)


@pytest.mark.parametrize("attributes", ["strides=[2,2]", "strides=[2,1], pads=[1,0,1,1], output_padding=[1,0]", "group=2", "dilations=[2,1]"])
def test_conv_transpose(agrees, attributes):
    agrees(*small_graph(f"y = ConvTranspose<{attributes}>(x, w, b)", {"x": random(2, 6, 7, 8)},
                        {"w": random(6, 5, 3, 3), "b": random(10 if "group" in attributes else 5)}), rtol=1e-4, atol=1e-4)


def test_a_small_network(agrees):
    text = """a = Conv<pads=[1,1,1,1]>(x, w)
              b = BatchNormalization(a, s, t, m, v)
              c = Relu(b)
              d = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(c)
              e = Conv<pads=[1,1,1,1]>(d, u)
              f = Add(e, d)
              g = Relu(f)
              h = GlobalAveragePool(g)
              i = Flatten(h)
              j = Gemm<transB=1>(i, k, l)
              y = Softmax(j)"""
    constants = {"w": random(16, 3, 3, 3), "s": random(16), "t": random(16, seed=1), "m": random(16, seed=2), "v": np.abs(random(16, seed=3)) + 1,
                 "u": random(16, 16, 3, 3) / 8, "k": random(10, 16), "l": random(10)}
    kernels = agrees(*small_graph(text, {"x": random(2, 3, 17, 19)}, constants), rtol=1e-4, atol=1e-5)
    assert kernels[1] == kernels[2] == "cuda.BatchNormalization+Relu" and kernels[5] == kernels[6] == "cuda.Add+Relu"
