# SPDX-License-Identifier: Apache-2.0
"""Operators with a state: more heads, keys and taps than ONNX's cases have, compared with the CPU provider."""

import ml_dtypes
import numpy as np
import pytest
from cuda_worker import compare_all
from small_graph import small_graph

TOLERANCES = {np.float32: 1e-4, np.float16: 1e-2, ml_dtypes.bfloat16: 6e-2}


def random(*shape, dtype=np.float32, seed=0, scale=1.0):
    return (np.random.default_rng(seed + sum(shape)).standard_normal(shape) * scale).astype(dtype)


def linear_attention(rule, batch=2, steps=5, queries=4, heads=2, keys=24, values=40, has_past=True, per_key=False, one_beta=False, dtype=np.float32, attributes=""):
    feeds = {"q": random(batch, steps, queries * keys, dtype=dtype), "k": random(batch, steps, heads * keys, dtype=dtype, seed=1, scale=keys**-0.5),
             "v": random(batch, steps, heads * values, dtype=dtype, seed=2)}
    names = ["q", "k", "v", "", "", ""]
    if has_past:
        feeds["s"], names[3] = random(batch, heads, keys, values, dtype=dtype, seed=3), "s"
    if "gated" in rule:
        feeds["g"], names[4] = -np.abs(random(batch, steps, heads * (keys if per_key else 1), dtype=dtype, seed=4)), "g"
    if "delta" in rule:
        feeds["b"], names[5] = 1 / (1 + np.exp(random(batch, steps, 1 if one_beta else heads, dtype=dtype, seed=5))), "b"
    while not names[-1]:
        names.pop()
    given = ", ".join(filter(None, [f'q_num_heads={queries}, kv_num_heads={heads}, update_rule="{rule}"', attributes]))
    feeds = {name: value.astype(dtype) for name, value in feeds.items()}
    model, feeds = small_graph(f"y, t = LinearAttention<{given}>({', '.join(names)})", feeds, opset=27)
    return model, feeds


RULES = ["linear", "gated", "delta", "gated_delta"]
FORMS = {
    "plain": {}, "no_past": {"has_past": False}, "by_key": {"per_key": True}, "one_beta": {"one_beta": True}, "one_head": {"queries": 1, "heads": 1},
    "one_of_many": {"queries": 8, "heads": 1}, "one_step": {"steps": 1}, "many_keys": {"keys": 130, "values": 33}, "many_keys_by_key": {"keys": 130, "per_key": True}, "most_keys": {"keys": 512, "values": 3},
    "few": {"keys": 1, "values": 1}, "scale": {"attributes": "scale=0.3"},
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", FORMS)
def test_linear_attention(cuda, rule, form):
    assert compare_all(cuda, *linear_attention(rule, **FORMS[form]), rtol=1e-4, atol=1e-4) == ["LinearAttention"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_linear_attention_of_types(cuda, rule, dtype):
    tolerance = TOLERANCES[dtype]
    assert compare_all(cuda, *linear_attention(rule, dtype=dtype), rtol=tolerance, atol=tolerance) == ["LinearAttention"]


def test_more_queries_than_fit_into_a_block(cuda):
    # By the function that defines the operator.
    assert "LinearAttention" not in compare_all(cuda, *linear_attention("gated_delta", queries=9, heads=1, keys=4, values=4), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("length, taps", [(1, 4), (7, 4), (3, 1), (70, 3), (2, 6)])
@pytest.mark.parametrize("optional", ["", "b", "s", "bs"])
@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_causal_convolutions(cuda, length, taps, optional, dtype):
    feeds = {"x": random(2, 5, length, dtype=dtype)}
    constants = {"w": random(5, 1, taps, dtype=dtype, seed=1)}
    names = ["x", "w", "", ""]
    if "b" in optional:
        constants["b"], names[2] = random(5, dtype=dtype, seed=2), "b"
    if "s" in optional:
        feeds["s"], names[3] = random(2, 5, taps - 1, dtype=dtype, seed=3), "s"
    while not names[-1]:
        names.pop()
    tolerance = TOLERANCES[dtype]
    for activation in ("none", "silu", "swish"):
        model, given = small_graph(f'y, t = CausalConvWithState<activation="{activation}">({", ".join(names)})', feeds, constants, opset=27)
        assert compare_all(cuda, model, given, rtol=tolerance, atol=tolerance) == ["CausalConvWithState"]
