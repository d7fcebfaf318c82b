# SPDX-License-Identifier: Apache-2.0
"""Normalisations of rows by vector loads, with one and several vectors per thread, without vector loads, and with several blocks per row;
softmax and reductions along every axis."""

import ml_dtypes
import numpy as np
import pytest
from cuda_worker import compare_all
from onnx import TensorProto, helper, numpy_helper
from small_graph import small_graph

LENGTHS = [8, 768, 1032, 9000, 13]  # one word, whole warps, a part of one, several words a thread, no whole words
TOLERANCES = {np.float32: (1e-4, 1e-5), np.float16: (1e-2, 5e-3), ml_dtypes.bfloat16: (4e-2, 4e-2)}


def random(*shape, dtype, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", list(TOLERANCES))
@pytest.mark.parametrize("text", ["y = LayerNormalization(x, g, b)", "y = RMSNormalization(x, g)", "y = LayerNormalization(x, g)"])
def test_rows(cuda, text, length, dtype):
    rtol, atol = TOLERANCES[dtype]
    feeds = {"x": random(3, length, dtype=dtype)}
    constants = {name: random(length, dtype=dtype, seed=seed) for seed, name in enumerate("gb", 1) if f" {name}" in text}
    compare_all(cuda, *small_graph(text, feeds, constants, opset=23), rtol=rtol, atol=atol)


@pytest.mark.parametrize("shape", [(19, 72), (5, 7, 64), (70, 16)])
@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_short_rows_share_a_block(cuda, shape, dtype):
    """More rows than a block takes, and a last block that is not full; with the outputs mean and deviation."""
    rtol, atol = TOLERANCES[dtype]
    # Each row is another.
    x = (random(*shape, dtype=np.float32) * np.arange(1, 1 + np.prod(shape[:-1])).reshape(*shape[:-1], 1) / 9 + 2).astype(dtype)
    constants = {name: random(shape[-1], dtype=dtype, seed=seed) for seed, name in enumerate("gb", 1)}
    compare_all(cuda, *small_graph("y, m, d = LayerNormalization(x, g, b)\n z = RMSNormalization(x, g)", {"x": x}, constants, opset=23), rtol=rtol, atol=atol)


# As shapes of [batch, channels, ...] and groups: in registers, of more than that holds, of lengths that are no whole words, of channels that words do
# not end with, and few and long enough for several blocks each.
CHANNELS = [((2, 6, 8, 4), 3), ((6, 4, 150, 60), 2), ((3, 6, 5, 7), 3), ((2, 4, 9, 3), 1), ((1, 2, 160, 110), 2), ((1, 4, 75, 113), 1), ((1, 3, 4, 4), 3)]


@pytest.mark.parametrize("shape, groups", CHANNELS)
@pytest.mark.parametrize("dtype", list(TOLERANCES))
@pytest.mark.parametrize("op", ["GroupNormalization", "InstanceNormalization"])
def test_groups_of_channels(cuda, op, shape, groups, dtype):
    rtol, atol = TOLERANCES[dtype]
    # Far from 0, where a sum of squares would lose the variance.
    x = (random(*shape, dtype=np.float32) + 30).astype(dtype)
    constants = {name: random(shape[1], dtype=dtype, seed=seed) for seed, name in enumerate("gb", 1)}
    attributes = f"<num_groups={groups}>" if op == "GroupNormalization" else ""
    if dtype == ml_dtypes.bfloat16:
        x, atol = (x.astype(np.float32) - 30).astype(dtype), 6e-2
    constants["k"] = np.ones(1, dtype)  # tells the type, which nothing infers of GroupNormalization
    compare_all(cuda, *small_graph(f"h = {op}{attributes}(x, g, b)\n y = Mul(k, h)", {"x": x}, constants, opset=22), rtol=rtol, atol=atol)


@pytest.mark.parametrize("length", [16384, 40000, 17500])
@pytest.mark.parametrize("text", ["y, m, d = LayerNormalization(x, g, b)", "y = RMSNormalization(x, g)"])
def test_long_rows_are_shared(cuda, text, length):
    feeds = {"x": random(1, length, dtype=np.float32)}
    constants = {name: random(length, dtype=np.float32, seed=seed) for seed, name in enumerate("gb", 1) if f" {name}" in text}
    compare_all(cuda, *small_graph(text, feeds, constants, opset=23), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [768, 13])
@pytest.mark.parametrize("rows", [(2, 5), (1, 5)])
def test_rows_with_a_skip_connection(cuda, length, rows):
    feeds = {"x": random(2, 5, length, dtype=np.float16), "s": random(*rows, length, dtype=np.float16, seed=1)}
    constants = [numpy_helper.from_array(random(length, dtype=np.float16, seed=seed), name) for seed, name in enumerate("gbc", 2)]
    node = helper.make_node("SkipLayerNormalization", ["x", "s", "g", "b", "c"], ["y", "", "", "t"], domain="com.microsoft")
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT16, shape)  # noqa: E731
    graph = helper.make_graph([node], "g", [info(name, value.shape) for name, value in feeds.items()], [info(name, [2, 5, length]) for name in "yt"], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
    compare_all(cuda, model, feeds, rtol=1e-2, atol=5e-3)


# Rows in one piece, and rows that lie side by side: as many as a block takes, more, and a part of what it takes.
ACROSS = [((9, 3), 1), ((37, 64), 1), ((5, 520), 1), ((2, 20000), 1), ((3, 40), 1), ((3, 700), 1), ((2, 21, 16), 1), ((2, 150, 37), 1), ((1, 600, 33), 1), ((5, 17), 0), ((70, 5), 0), ((3, 40, 9, 8), 1)]


@pytest.mark.parametrize("shape, axis", ACROSS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax", "LpNormalization"])
def test_softmax_along_every_axis(cuda, shape, axis, dtype, op):
    x = random(*shape, dtype=dtype)
    if op == "LpNormalization":
        assert compare_all(cuda, *small_graph(f"y = {op}<axis={axis}>(x)", {"x": x})) == [op]
        return
    # Over its own input, and with what is masked.
    x[np.unravel_index(range(0, x.size, 7), shape)] = -np.inf
    assert compare_all(cuda, *small_graph(f"a = Add(x, x)\n y = {op}<axis={axis}>(a)", {"x": x}))[1] == op


@pytest.mark.parametrize("shape, axis", [*ACROSS, ((2000, 18), 0), ((3, 9000), 1), ((1, 40000), 1), ((3000, 2, 5), 0), ((20, 700, 3), 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_reductions_along_every_axis(cuda, shape, axis, dtype):
    x = (random(*shape, dtype=np.float32) * 9).astype(dtype)
    text = "\n".join(f"y{i} = {op}<keepdims={i % 2}>(x, a)" for i, op in enumerate(("ReduceSum", "ReduceMax", "ReduceL2" if dtype == np.float32 else "ReduceMin")))
    compare_all(cuda, *small_graph(f"{text}\n z = ArgMax<axis={axis}>(x)", {"x": x}, {"a": np.array([axis])}), rtol=1e-4, atol=1e-3)
