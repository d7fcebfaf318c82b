# SPDX-License-Identifier: Apache-2.0
"""Spectra of lengths with small factors, large ones and none, along every axis; and window functions."""

import ml_dtypes
import numpy as np
import pytest
from cuda_worker import compare_all
from onnx import TensorProto
from small_graph import small_graph

TYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}
TOLERANCES = {"f32": (1e-4, 2e-4), "f16": (1e-2, 3e-2), "bf16": (6e-2, 2e-1), "f64": (1e-10, 1e-10)}


def random(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


def check(worker, text, feeds, constants=None, opset=20, tolerance="f32"):
    op_type = text.split("=", 1)[1].split("<")[0].split("(")[0].strip()
    rtol, atol = TOLERANCES[tolerance]
    assert compare_all(worker, *small_graph(text, feeds, constants, opset), rtol=rtol, atol=atol) == [op_type]


@pytest.mark.parametrize("points", [1, 2, 5, 16, 37, 60, 121, 256, 400, 1009])
@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("parts", [1, 2])
def test_lengths(cuda, points, inverse, parts):
    check(cuda, f"y = DFT<inverse={inverse}>(x)", {"x": random(3, points, parts)}, opset=20)


@pytest.mark.parametrize("points", [1, 2, 9, 48, 400])
def test_halves_of_spectra(cuda, points):
    check(cuda, "y = DFT<onesided=1>(x)", {"x": random(2, points, 1)})
    check(cuda, "y = DFT<onesided=1, inverse=1>(x, n)", {"x": random(2, points // 2 + 1, 2)}, {"n": np.array(points)})
    if points > 2:
        check(cuda, "y = DFT<onesided=1, inverse=1>(x)", {"x": random(2, points, 2)})


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
@pytest.mark.parametrize("kind", TYPES)
def test_axes(cuda, axis, kind):
    x = random(6, 20, 34, 2, dtype=TYPES[kind])
    check(cuda, "y = DFT(x, n, a)", {"x": x}, {"n": np.array(x.shape[axis if axis >= 0 else axis]), "a": np.array(axis)}, tolerance=kind)
    check(cuda, f"y = DFT<axis={axis}>(x)", {"x": x}, opset=17, tolerance=kind)


@pytest.mark.parametrize("points", [7, 13, 32])
def test_lengths_that_are_given(cuda, points):
    # Longer than what there is, and shorter.
    check(cuda, "y = DFT(x, n)", {"x": random(2, 13, 2)}, {"n": np.array(points)})


def test_lengths_that_are_none(cuda):
    with pytest.raises(RuntimeError, match="a transform of 0 points cannot be made"):
        cuda.run(*small_graph("y = DFT(x, n)", {"x": random(1, 3, 2), "n": np.array(0)}, opset=20))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("window", [True, False])
@pytest.mark.parametrize("onesided, parts", [(1, 1), (0, 1), (0, 2)])
def test_frames(cuda, kind, window, onesided, parts):
    constants = {"s": np.array(10), "n": np.array(24)}
    if window:
        constants["w"] = random(24, dtype=TYPES[kind], seed=3)
    text = f"y = STFT<onesided={onesided}>(x, s, {'w' if window else ''}, n)"
    check(cuda, text, {"x": random(3, 101, parts, dtype=TYPES[kind])}, constants, opset=17, tolerance=kind)


def test_frames_of_the_window(cuda):
    check(cuda, "y = STFT(x, s, w)", {"x": random(2, 64, 1)}, {"s": np.array(7), "w": random(16, seed=3)}, opset=17)


def test_frames_that_do_not_fit(cuda):
    constants = {"s": np.array(10), "n": np.array(200)}
    with pytest.raises(RuntimeError, match="frames of 200 numbers at steps of 10 do not fit the signal"):
        cuda.run(*small_graph("y = STFT(x, s, , n)", {"x": (random(1, 101, 1), [1, "n", 1])}, constants, opset=17))


# Their inputs are constants of the model otherwise, and their results too.
@pytest.mark.parametrize("op_type", ["BlackmanWindow", "HammingWindow", "HannWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT32])
def test_windows(cuda, op_type, periodic, dtype):
    for size in (1 + periodic, 15, 700):
        check(cuda, f"y = {op_type}<periodic={periodic}, output_datatype={dtype}>(n)", {"n": np.array(size)}, opset=17, tolerance="f16" if dtype == TensorProto.FLOAT16 else "f32")


@pytest.mark.parametrize("numbers", [(8, 16, 8192, 0.0, 4096.0), (80, 400, 16000, 20.0, 7600.0), (3, 1, 100, 0.0, 50.0), (40, 64, 8000, 100.0, 8000.0)])
@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32])
def test_mel_weights(cuda, numbers, dtype):
    feeds = {name: np.array(value, np.float32 if isinstance(value, float) else np.int64) for name, value in zip("abcde", numbers)}
    check(cuda, f"y = MelWeightMatrix<output_datatype={dtype}>(a, b, c, d, e)", feeds, opset=17, tolerance="f16" if dtype == TensorProto.FLOAT16 else "f32")
