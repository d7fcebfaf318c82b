# SPDX-License-Identifier: Apache-2.0
"""Attention of more keys than a strip and of wide heads, which ONNX's cases do not have."""

import ml_dtypes
import numpy as np
import pytest
from cuda_worker import compare_all
from small_graph import small_graph


@pytest.fixture(params=["cuda", "cuda_blas"])
def both(request):
    """By strips of keys, and for many queries by matmuls."""
    return request.getfixturevalue(request.param)


def random(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


def qkv(batch, heads, kv_heads, queries, keys, width, v_width=None, dtype=np.float32):
    return {"q": random(batch, heads, queries, width, dtype=dtype), "k": random(batch, kv_heads, keys, width, dtype=dtype, seed=1),
            "v": random(batch, kv_heads, keys, v_width or width, dtype=dtype, seed=2)}


CASES = {
    "strips": ("", qkv(1, 2, 2, 3, 300, 16), {}),
    "causal": ("<is_causal=1>", qkv(1, 2, 1, 140, 140, 16), {}),
    "wide": ("", qkv(1, 1, 1, 2, 5, 200, 260), {}),
    "window": ("<is_causal=1, left_window_size=130>", qkv(1, 1, 1, 4, 270, 8), {}),
    "softcap": ("<softcap=2.0>", qkv(2, 4, 2, 2, 150, 32), {}),
    "masked": ("", qkv(2, 2, 2, 3, 140, 8), {"m": np.random.default_rng(3).random((3, 140)) > 0.6}),
    "all_masked": ("", qkv(1, 2, 2, 3, 140, 8), {"m": np.arange(3)[:, None] * 70 > np.arange(140)[None]}),
    "added": ("", qkv(2, 2, 2, 3, 140, 8), {"m": random(2, 1, 3, 140)}),
    "one_query": ("", qkv(1, 2, 1, 1, 700, 16), {}),
    "one_query_at_once": ("", qkv(1, 2, 1, 1, 260, 16), {}),
    "one_query_at_once_in_a_window": ("<is_causal=1, left_window_size=150>", qkv(1, 1, 1, 2, 400, 16), {}),
    "one_query_in_a_window": ("<left_window_size=300>", qkv(1, 1, 1, 1, 700, 8), {}),
    "one_query_masked": ("", qkv(1, 1, 1, 1, 400, 8), {"m": np.arange(400)[None] < 130}),
    "nothing_seen": ("", qkv(1, 1, 1, 1, 400, 8), {"m": np.zeros((1, 400), bool)}),
    "many_queries": ("", qkv(2, 4, 2, 20, 35, 16), {}),
    "many_queries_masked": ("<is_causal=1, softcap=2.0>", qkv(2, 4, 2, 20, 35, 16, 24), {"m": random(2, 4, 20, 35)}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_attention(both, case, dtype):
    attributes, tensors, mask = CASES[case]
    feeds = {name: value.astype(dtype) for name, value in tensors.items()}
    feeds |= {name: value if value.dtype == bool else value.astype(dtype) for name, value in mask.items()}
    kernels = compare_all(both, *small_graph(f"y = Attention{attributes}({', '.join(feeds)})", feeds, opset=26 if "window" in attributes else 23),
                     rtol=1e-2 if dtype == np.float16 else 1e-4, atol=5e-3 if dtype == np.float16 else 1e-5)
    assert kernels == ["Attention"]


def test_a_past_is_continued(both):
    feeds = {"q": random(2, 1, 8), "k": random(2, 1, 4, seed=1), "v": random(2, 1, 4, seed=2), "pk": random(2, 1, 130, 4, seed=3),
             "pv": random(2, 1, 130, 4, seed=4)}
    compare_all(both, *small_graph("y, a, b = Attention<q_num_heads=2, kv_num_heads=1, is_causal=1>(q, k, v, , pk, pv)", feeds, opset=23), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("queries", [1, 20])
def test_heads_side_by_side(both, queries):
    feeds = {"q": random(2, queries, 32), "k": random(2, 37, 16, seed=1), "v": random(2, 37, 16, seed=2)}
    compare_all(both, *small_graph("y = Attention<q_num_heads=4, kv_num_heads=2>(q, k, v)", feeds, opset=23), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("queries", [1, 20])
def test_keys_of_different_numbers(both, queries):
    feeds = {"q": random(2, 2, queries, 8), "k": random(2, 2, 300, 8, seed=1), "v": random(2, 2, 300, 8, seed=2), "n": np.array([300, 40], np.int64)}
    compare_all(both, *small_graph("y = Attention<is_causal=1>(q, k, v, , , , n)", feeds, opset=24), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_heads_of_one_batch_are_multiplied_in_place(both, heads, dtype):
    """Head strides equal the width of all heads together; values are wider than keys."""
    feeds = {"q": random(1, 20, 8 * heads, dtype=dtype), "k": random(1, 37, 8 * heads, dtype=dtype, seed=1), "v": random(1, 37, 16 * heads, dtype=dtype, seed=2)}
    compare_all(both, *small_graph(f"y = Attention<q_num_heads={heads}, kv_num_heads={heads}, is_causal=1>(q, k, v)", feeds, opset=23),
                rtol=1e-2 if dtype == np.float16 else 1e-4, atol=5e-3 if dtype == np.float16 else 1e-5)


@pytest.mark.parametrize("queries", [1, 3, 20])
@pytest.mark.parametrize("past", [5, 130, 300])
def test_a_past_is_read_in_place(both, queries, past):
    """The present is no output."""
    feeds = {"q": random(2, queries, 32), "k": random(2, queries, 16, seed=1), "v": random(2, queries, 24, seed=2), "pk": random(2, 2, past, 8, seed=3),
             "pv": random(2, 2, past, 12, seed=4)}
    compare_all(both, *small_graph("y = Attention<q_num_heads=4, kv_num_heads=2, is_causal=1>(q, k, v, , pk, pv)", feeds, opset=23), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [7, 20])
def test_heads_that_are_no_whole_vectors(both, width):
    """Such heads are read element by element."""
    feeds = qkv(1, 2, 1, 3, 300, width, width + 3, dtype=np.float16)
    compare_all(both, *small_graph("y = Attention<is_causal=1>(q, k, v)", feeds, opset=23), rtol=1e-2, atol=5e-3)


# Many queries of 16-bit floats, by tensor cores: few heads of few queries share keys among warps.
TILES = {
    "of_all_queries": ("", qkv(2, 4, 2, 70, 150, 32), None),
    "of_half_of_them": ("<is_causal=1>", qkv(1, 2, 2, 40, 100, 64), None),
    "of_a_quarter": ("", qkv(1, 1, 1, 20, 300, 64), None),
    "of_a_quarter_of_wide_heads": ("<is_causal=1>", qkv(1, 1, 1, 20, 150, 128, 72), None),
    "of_no_whole_fragments": ("", qkv(1, 2, 1, 70, 70, 8, 40), None),
    "fewer_keys_than_warps": ("", qkv(1, 1, 1, 20, 3, 16), None),
    "window": ("<is_causal=1, left_window_size=37>", qkv(1, 2, 1, 140, 140, 80, 16), None),
    "softcap": ("<softcap=2.0>", qkv(1, 4, 2, 33, 60, 16), None),
    "nothing_seen": ("", qkv(1, 1, 1, 20, 200, 16), np.arange(20)[:, None] * 10 > np.arange(200)[None] + 20),
    "added": ("", qkv(2, 2, 2, 20, 140, 16), random(2, 1, 20, 140)),
}


@pytest.mark.parametrize("case", TILES)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_tiles(both, case, dtype):
    attributes, tensors, mask = TILES[case]
    feeds = {name: value.astype(dtype) for name, value in tensors.items()}
    if mask is not None:
        feeds["m"] = mask if mask.dtype == bool else mask.astype(dtype)
    tolerance = 1e-2 if dtype == np.float16 else 5e-2
    compare_all(both, *small_graph(f"y = Attention{attributes}({', '.join(feeds)})", feeds, opset=26 if "window" in attributes else 23), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("past", [5, 130])
def test_tiles_read_a_past_in_place(both, past):
    feeds = {"q": random(2, 20, 32, dtype=np.float16), "k": random(2, 20, 16, dtype=np.float16, seed=1), "v": random(2, 20, 32, dtype=np.float16, seed=2),
             "pk": random(2, 2, past, 8, dtype=np.float16, seed=3), "pv": random(2, 2, past, 16, dtype=np.float16, seed=4)}
    compare_all(both, *small_graph("y = Attention<q_num_heads=4, kv_num_heads=2, is_causal=1>(q, k, v, , pk, pv)", feeds, opset=23), rtol=1e-2, atol=1e-2)


def test_tiles_read_no_more_keys_than_there_are(both):
    """Memory behind the valid keys may be NaN."""
    half = np.float16
    feeds = {"q": random(2, 2, 20, 16, dtype=half), "k": random(2, 2, 300, 16, dtype=half, seed=1), "v": random(2, 2, 300, 16, dtype=half, seed=2),
             "n": np.array([300, 40], np.int64)}
    feeds["k"][1, :, 40:] = feeds["v"][1, :, 40:] = np.nan
    compare_all(both, *small_graph("y = Attention<is_causal=1>(q, k, v, , , , n)", feeds, opset=24), rtol=1e-2, atol=1e-2)
