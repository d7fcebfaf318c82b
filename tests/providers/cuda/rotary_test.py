# SPDX-License-Identifier: Apache-2.0
"""RotaryEmbedding on the device: ONNX's and com.microsoft's, whose inputs have another order."""

import numpy as np
import onnx
import pytest
from small_graph import small_graph

BATCH, HEADS, LENGTH, WIDTH = 2, 3, 5, 8


def random(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


def typed(model, feeds):
    """onnx does not know com.microsoft's types: the output has the input's."""
    model.graph.output[0].type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(feeds["x"].dtype)
    return model, feeds


FORMS = {
    "flat": ((BATCH, LENGTH, HEADS * WIDTH), WIDTH // 2, f"num_heads={HEADS}"),
    "by head": ((BATCH, HEADS, LENGTH, WIDTH), WIDTH // 2, ""),
    "part": ((BATCH, LENGTH, HEADS * WIDTH), 2, f"num_heads={HEADS}, rotary_embedding_dim=4"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("domain", ["", "com.microsoft."])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_forms(agrees, form, interleaved, domain, dtype):
    shape, pairs, attributes = FORMS[form]
    feeds = {"x": random(*shape, dtype=dtype), "n": np.random.default_rng(1).integers(0, 20, (BATCH, LENGTH))}
    caches = {"c": random(20, pairs, dtype=dtype), "s": random(20, pairs, dtype=dtype, seed=1)}
    inputs = "x, n, c, s" if domain else "x, c, s, n"
    text = f"y = {domain}RotaryEmbedding<interleaved={interleaved}{', ' if attributes else ''}{attributes}>({inputs})"
    kernels = agrees(*typed(*small_graph(text, feeds, caches, opset=23)), rtol=5e-3 if dtype == np.float16 else 1e-5,
                     atol=5e-3 if dtype == np.float16 else 1e-5)
    assert kernels == ["RotaryEmbedding"]


def test_caches_by_token(agrees):
    feeds = {"x": random(BATCH, HEADS, LENGTH, WIDTH), "c": random(BATCH, LENGTH, WIDTH // 2), "s": random(BATCH, LENGTH, WIDTH // 2, seed=1)}
    assert agrees(*small_graph("y = RotaryEmbedding(x, c, s)", feeds, opset=23)) == ["RotaryEmbedding"]


def test_positions_from_an_offset(agrees):
    feeds = {"x": random(BATCH, LENGTH, HEADS * WIDTH), "n": np.array([7])}
    caches = {"c": random(20, WIDTH // 2), "s": random(20, WIDTH // 2, seed=1)}
    assert agrees(*typed(*small_graph("y = com.microsoft.RotaryEmbedding(x, n, c, s)", feeds, caches, opset=23))) == ["RotaryEmbedding"]
