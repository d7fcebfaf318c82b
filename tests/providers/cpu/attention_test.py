# SPDX-License-Identifier: Apache-2.0
"""Attention against a formula in f64: heads, masks, windows, a past, and lengths beyond one block of queries."""

import numpy as np
import pytest
from oracle import compare, element_type, node_model, run_gantry

import gantry


def formula(q, k, v, mask=None, causal=False, past=0, lengths=None, window=(-1, -1), softcap=0.0, scale=None):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (scale or q.shape[-1] ** -0.5)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    total = k.shape[2]
    keys, queries = np.arange(total)[None, None], np.arange(q.shape[2])[None, :, None]
    offset = past if lengths is None else (lengths - q.shape[2])[:, None, None]
    seen = np.ones((q.shape[0], q.shape[2], total), bool)
    if causal:
        seen &= keys <= queries + offset
    if window[0] >= 0:
        seen &= queries + offset - keys <= window[0]
    if window[1] >= 0:
        seen &= keys - queries - offset <= window[1]
    if lengths is not None:
        seen &= keys < lengths[:, None, None]
    bias = np.where(seen, 0.0, -np.inf)[:, None]
    if mask is not None:
        given = np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask.astype(np.float64)
        short = [(0, 0)] * (given.ndim - 1) + [(0, total - given.shape[-1])]
        bias = bias + np.pad(given, short, constant_values=-np.inf)
    scores = scores + bias
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    return weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300) @ v


def draw(shape, seed, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def run(inputs, opset=24, outputs=1, **attributes):
    kind = element_type(inputs[0])
    model, feeds = node_model("Attention", inputs, [kind] * outputs, opset, attributes)
    return run_gantry(model, feeds)


MASKS = {
    "none": None,
    "bool": np.random.default_rng(1).random((70, 90)) > 0.3,
    "short": np.random.default_rng(2).random((70, 40)) > 0.3,
    "heads": draw((4, 1, 90), 3),
    "all": draw((2, 4, 70, 90), 4),
    "as if causal": np.tri(70, 90, 20, dtype=bool),
    "as if causal, by the lowest number": np.where(np.tri(70, 90, 20, dtype=bool), 0, np.finfo(np.float32).min).astype(np.float32),
    "a band": np.tri(70, 90, 5, dtype=bool) & ~np.tri(70, 90, -9, dtype=bool),
    "rows that see nothing": np.broadcast_to((np.arange(70) % 3 > 0)[:, None], (70, 90)).copy(),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_masks_and_heads(mask, causal, kv_heads):
    q, k, v = draw((2, 4, 70, 16), 5), draw((2, kv_heads, 90, 16), 6), draw((2, kv_heads, 90, 24), 7)
    y = run([q, k, v, MASKS[mask]], is_causal=causal)[0]
    compare(y, formula(q, k, v, MASKS[mask], bool(causal)).astype(np.float32), 1e-4, 1e-5)


def test_a_scale_of_0_is_no_default():
    """All keys weigh the same."""
    q, k, v = draw((1, 2, 5, 8), 1), draw((1, 2, 6, 8), 2), draw((1, 2, 6, 8), 3)
    compare(run([q, k, v], scale=0.0)[0], np.broadcast_to(v.mean(2, keepdims=True), q.shape), 1e-5, 1e-6)


@pytest.mark.parametrize("dtype, rtol, atol", [(np.float64, 1e-10, 1e-12), (np.float16, 2e-3, 1e-3)])
def test_types(dtype, rtol, atol):
    q, k, v = draw((1, 2, 5, 8), 1, dtype), draw((1, 2, 6, 8), 2, dtype), draw((1, 2, 6, 8), 3, dtype)
    compare(run([q, k, v], is_causal=1)[0], formula(q, k, v, causal=True).astype(dtype), rtol, atol)


@pytest.mark.parametrize("causal", [0, 1])
def test_lowest_numbers_alone_hide_nothing(causal):
    """Left padding as exporters write it: its own queries see padding only, and share it equally."""
    q, k, v = draw((2, 2, 80, 8), 1), draw((2, 2, 80, 8), 2), draw((2, 2, 80, 8), 3)
    mask = np.where(np.arange(80) < 70, np.finfo(np.float32).min, 0).astype(np.float32) + np.zeros((2, 1, 80, 80), np.float32)
    mask[:, :, :70, 70:] = np.finfo(np.float32).min
    y = run([q, k, v, mask], is_causal=causal)[0]
    seen = np.tri(80) if causal else np.ones((80, 80))
    compare(y[:, :, :70], ((seen / seen.sum(1, keepdims=True)) @ v)[:, :, :70].astype(np.float32), 1e-4, 1e-5)
    compare(y[:, :, 70:], formula(q[:, :, 70:], k[:, :, 70:], v[:, :, 70:], causal=bool(causal)).astype(np.float32), 1e-4, 1e-5)


def test_what_is_hidden_is_not_computed():
    """Keys and values of padding may hold anything."""
    q, k, v = draw((1, 2, 5, 8), 1), draw((1, 2, 9, 8), 2), draw((1, 2, 9, 8), 3)
    k[:, :, 6:] = v[:, :, 6:] = np.nan
    y = run([q, k, v, np.arange(9)[None] < np.full((5, 1), 6)])[0]
    compare(y, formula(q, k[:, :, :6], v[:, :, :6]).astype(np.float32), 1e-4, 1e-5)


@pytest.mark.parametrize("length", [1, 3, 130])
@pytest.mark.parametrize("rank", [3, 4])
def test_past(length, rank):
    q, k, v = draw((2, 4, length, 8), 1), draw((2, 2, length, 8), 2), draw((2, 2, length, 8), 3)
    past_k, past_v = draw((2, 2, 20, 8), 4), draw((2, 2, 20, 8), 5)
    flat = lambda x: x if rank == 4 else x.swapaxes(1, 2).reshape(2, length, -1).copy()
    heads = {} if rank == 4 else {"q_num_heads": 4, "kv_num_heads": 2}
    y, present_k, present_v = run([flat(q), flat(k), flat(v), None, past_k, past_v], outputs=3, is_causal=1, softcap=3.0, scale=0.7, **heads)
    all_k, all_v = np.concatenate([past_k, k], 2), np.concatenate([past_v, v], 2)
    expected = formula(q, all_k, all_v, causal=True, past=20, softcap=3.0, scale=0.7).astype(np.float32)
    compare(y, flat(expected), 1e-4, 1e-5)
    compare([present_k, present_v], [all_k, all_v], 0, 0)


@pytest.mark.parametrize("causal", [0, 1])
def test_lengths(causal):
    q, k, v = draw((3, 2, 4, 8), 1), draw((3, 2, 10, 8), 2), draw((3, 2, 10, 8), 3)
    lengths = np.array([10, 4, 0], np.int64)
    y = run([q, k, v, None, None, None, lengths], is_causal=causal)[0]
    compare(y, formula(q, k, v, causal=bool(causal), lengths=lengths).astype(np.float32), 1e-4, 1e-5)
    far = np.array([2**62, -(2**62), 3], np.int64)
    assert np.isfinite(run([q, k, v, None, None, None, far], is_causal=causal)[0]).all()


def test_what_does_not_fit_is_said():
    q, k = draw((1, 4, 3, 8), 1), draw((1, 3, 3, 8), 2)
    with pytest.raises(gantry.Error, match="do not fit together"):
        run([q, k, k])
    with pytest.raises(gantry.Error, match="a mask of shape"):
        run([q, q, q, np.ones((2, 3), bool)])
