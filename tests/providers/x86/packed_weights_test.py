# SPDX-License-Identifier: Apache-2.0
"""Weights are packed once in a process: sessions with equal ones share them, and only those."""

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

import gantry
from oracle import run_oracle
from small_graph import small_graph

MIB = 1 << 20


def resident():
    """Memory of the process in bytes."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1]) << 10


def saved(folder, name, weights, text="y = MatMul(x, w)"):
    """A model file, its weights to be mapped, and what to feed it."""
    model, feeds = small_graph(text, {"x": np.ones((1, weights.shape[0]), np.float32)}, {"w": weights})
    onnx.save(model, folder / name)
    return folder / name, feeds


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def test_sessions_with_equal_weights_hold_them_once(tmp_path):
    weights = random(2048, 8192)  # 64 MiB
    path, feeds = saved(tmp_path, "a.onnx", weights)
    del weights
    sessions = [gantry.Session(path, device="CPU")]
    expected = sessions[0].run(feeds)["y"]
    before = resident()
    sessions += [gantry.Session(path, device="CPU") for _ in range(3)]
    for session in sessions:
        np.testing.assert_array_equal(session.run(feeds)["y"], expected)
    assert resident() - before < 32 * MIB  # three times 64 if each had its own
    before = resident()
    del session, sessions
    assert before - resident() > 48 * MIB  # given back to the system with the last session


def test_a_session_outlives_the_one_that_packed(tmp_path):
    path, feeds = saved(tmp_path, "a.onnx", random(256, 512))
    first = gantry.Session(path, device="CPU")
    second = gantry.Session(path, device="CPU")
    expected = first.run(feeds)["y"]
    del first
    np.testing.assert_array_equal(second.run(feeds)["y"], expected)


def test_what_was_computed_to_be_packed_is_not_held_twice(tmp_path):
    weights = random(8192, 2048)  # 64 MiB, and as much turned
    model, feeds = small_graph("t = Transpose<perm=[1, 0]>(w)\n y = MatMul(x, t)", {"x": np.ones((1, 2048), np.float32)}, {"w": weights})
    onnx.save(model, tmp_path / "a.onnx")
    expected = feeds["x"] @ weights.T
    del model, weights
    before = resident()
    session = gantry.Session(tmp_path / "a.onnx", device="CPU")
    np.testing.assert_allclose(session.run(feeds)["y"], expected, rtol=1e-3, atol=1e-3)
    assert [node.kernel for node in session.placement.nodes] == ["x86.matmul"]
    assert resident() - before < 96 * MIB


@pytest.mark.parametrize("change", ["first", "last", "scale", "transposed"])
def test_what_differs_a_little_is_not_shared(tmp_path, change):
    weights = random(384, 384)
    other = weights.copy()
    text = "y = MatMul(x, w)"
    if change == "first":
        other[0, 0] += 1
    elif change == "last":
        other[-1, -1] += 1
    elif change == "scale":
        text = "a = MatMul(x, w)\n y = Mul(a, s)"
    else:
        text = "y = Gemm<transB=1>(x, w)"
    path, feeds = saved(tmp_path, "a.onnx", weights)
    kept = gantry.Session(path, device="CPU")  # holds its weights while the other looks for its own
    constants = {"w": other, "s": np.linspace(1, 2, 384, dtype=np.float32)}
    model, _ = small_graph(text, feeds, {name: value for name, value in constants.items() if f" {name})" in text})
    np.testing.assert_allclose(gantry.Session(model, device="CPU").run(feeds)["y"], run_oracle(model, feeds)[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(kept.run(feeds)["y"], feeds["x"] @ weights, rtol=1e-4, atol=1e-4)
