# SPDX-License-Identifier: Apache-2.0
"""TensorScatter into a cache of keys."""

import ml_dtypes
import numpy as np
import pytest
from cuda_worker import compare_all
from small_graph import small_graph


def random(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("attributes", ["", "<mode=\"circular\">", "<axis=1>"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.uint8])
@pytest.mark.parametrize("width", [8, 3])
def test_new_positions_are_written(cuda, attributes, dtype, width):
    shape, update = ((2, 9, 3, width), (2, 4, 3, width)) if "axis" in attributes else ((2, 3, 9, width), (2, 3, 4, width))
    feeds = {"c": np.abs(random(*shape) * 9).astype(dtype), "u": np.abs(random(*update, seed=1) * 9).astype(dtype),
             "w": np.array([7, 2] if "circular" in attributes else [5, 0], np.int64)}
    compare_all(cuda, *small_graph(f"y = TensorScatter{attributes}(c, u, w)", feeds, opset=24))


def test_without_positions_the_front_is_written(cuda):
    feeds = {"c": random(2, 3, 9, 4), "u": random(2, 3, 9, 4, seed=1)}
    compare_all(cuda, *small_graph("y = TensorScatter(c, u)", feeds, opset=24))


@pytest.mark.parametrize("queries", [1, 3])
def test_attention_reads_the_cache_as_far_as_it_is_filled(cuda, queries):
    feeds = {"q": random(2, 4, queries, 8), "k": random(2, 2, queries, 8, seed=1), "v": random(2, 2, queries, 8, seed=2), "pk": random(2, 2, 200, 8, seed=3),
             "pv": random(2, 2, 200, 8, seed=4), "w": np.array([150, 20], np.int64), "n": np.array([150 + queries, 20 + queries], np.int64)}
    text = "a = TensorScatter(pk, k, w)\n b = TensorScatter(pv, v, w)\n y = Attention<is_causal=1>(q, a, b, , , , n)\n pks = Identity(a)\n pvs = Identity(b)"
    kernels = compare_all(cuda, *small_graph(text, feeds, opset=24), rtol=1e-4, atol=1e-5)
    assert kernels.count("TensorScatter") == 2
