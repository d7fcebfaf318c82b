# SPDX-License-Identifier: Apache-2.0
"""DFT, STFT and MelWeightMatrix against numpy.fft and ONNX's reference evaluator."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from oracle import compare, element_type, node_model, run_gantry, run_reference

import gantry

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 16, 32, 49, 60, 64, 97, 98, 100, 121, 128, 250, 256, 343, 360, 441, 625, 1000, 1009, 1764, 2048, 2187, 4096]


def run(op_type, inputs, opset=20, attributes=None):
    model, feeds = node_model(op_type, inputs, [element_type(inputs[0])], opset, attributes)
    return model, feeds, run_gantry(model, feeds)[0]


def parts(z, dtype):
    return np.stack([z.real, z.imag], -1).astype(dtype)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lengths(length, dtype):
    rng = np.random.default_rng(length)
    x = rng.normal(size=(3, length, 2)).astype(dtype)
    z = x[..., 0].astype(np.float64) + 1j * x[..., 1].astype(np.float64)
    rtol, atol = (1e-4, 3e-6 * length**0.5) if dtype == np.float32 else (1e-9, 1e-11 * length)
    compare(run("DFT", [x])[2], parts(np.fft.fft(z), dtype), rtol, atol)
    compare(run("DFT", [x], 20, {"inverse": 1})[2], parts(np.fft.ifft(z), dtype), rtol, atol)
    real = x[..., :1]
    compare(run("DFT", [real], 20, {"onesided": 1})[2], parts(np.fft.rfft(real[..., 0].astype(np.float64)), dtype), rtol, atol)
    if length > 1:
        points = np.array(2 * (length - 1), np.int64)
        expected = np.fft.irfft(z, int(points))[..., None].astype(dtype)
        compare(run("DFT", [x, points], 20, {"onesided": 1, "inverse": 1})[2], expected, rtol, atol)
    expected = np.fft.irfft(z, 2 * length - 1)[..., None].astype(dtype)
    compare(run("DFT", [x, np.array(2 * length - 1, np.int64)], 20, {"onesided": 1, "inverse": 1})[2], expected, rtol, atol)
    compare(run("DFT", [real], 20, {"inverse": 1})[2], parts(np.fft.ifft(real[..., 0].astype(np.float64)), dtype), rtol, atol)


@pytest.mark.parametrize("dtype, rtol, atol", [(np.float16, 2e-3, 2e-2), (np.float32, 1e-5, 1e-5)])
@pytest.mark.parametrize("axis", [0, 1, -2, -3])
@pytest.mark.parametrize("points", [None, 4, 9])
def test_axes_and_padding(dtype, rtol, atol, axis, points):
    x = np.random.default_rng(1).normal(size=(6, 5, 7, 1)).astype(dtype)
    expected = parts(np.fft.fft(x[..., 0].astype(np.float64), points, axis if axis >= 0 else axis + 1), dtype)
    length = None if points is None else np.array(points, np.int64)
    compare(run("DFT", [x, length, np.array(axis, np.int64)])[2], expected, rtol, atol)
    compare(run("DFT", [x, length], 17, {"axis": axis % 4})[2], expected, rtol, atol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("frame, step", [(16, 8), (15, 4), (14, 14), (64, 1)])
@pytest.mark.parametrize("has_window", [False, True])
def test_stft(dtype, onesided, frame, step, has_window):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 64, 1)).astype(dtype)
    window = np.hanning(frame).astype(dtype) if has_window else None
    frames = np.stack([x[:, i : i + frame, 0] for i in range(0, 64 - frame + 1, step)], 1).astype(np.float64)
    frames = frames * (1 if window is None else window)
    expected = parts((np.fft.rfft if onesided else np.fft.fft)(frames), dtype)
    inputs = [x, np.array(step, np.int64), window, np.array(frame, np.int64)]
    compare(run("STFT", inputs, 17, {"onesided": onesided})[2], expected, 1e-4, 1e-5)


@pytest.mark.parametrize("onesided", [0, 1])
def test_one_session_transforms_any_length(onesided):
    node = helper.make_node("DFT", ["x"], ["y"], onesided=onesided)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [name, f"length of {name}", width]) for name, width in (("x", 1), ("y", 2))]
    model = helper.make_model(helper.make_graph([node], "graph", values[:1], values[1:]), opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    session = gantry.Session(model, device="CPU")
    for length in (8, 9, 11, 8, 1000, 2**20 + 2**18, 30):
        x = np.random.default_rng(length).normal(size=(2, length, 1)).astype(np.float32)
        transform = np.fft.rfft if onesided else np.fft.fft
        compare(session.run({"x": x})["y"], parts(transform(x[..., 0].astype(np.float64)), np.float32), 1e-4, 3e-6 * length**0.5)


def test_stft_of_complex_signal():
    x = np.random.default_rng(4).normal(size=(1, 20, 2)).astype(np.float32)
    frames = np.stack([x[:, i : i + 10] for i in (0, 5, 10)], 1)
    expected = parts(np.fft.fft(frames[..., 0] + 1j * frames[..., 1]), np.float32)
    compare(run("STFT", [x, np.array(5, np.int64), None, np.array(10, np.int64)], 17, {"onesided": 0})[2], expected, 1e-4, 1e-5)


@pytest.mark.parametrize("bands, points, rate, low, high", [(8, 16, 8192, 0, 4096), (40, 512, 16000, 20, 7600), (80, 400, 16000, 0, 8000), (3, 4, 44100, 0, 22050)])
def test_mel_weights(bands, points, rate, low, high):
    inputs = [np.array(bands, np.int64), np.array(points, np.int64), np.array(rate, np.int64), np.array(low, np.float64), np.array(high, np.float64)]
    model, feeds = node_model("MelWeightMatrix", inputs, [1], 17)
    compare(run_gantry(model, feeds), run_reference(model, feeds))


def test_what_does_not_fit_is_said():
    x = np.zeros((2, 8, 1), np.float32)
    with pytest.raises(gantry.Error, match="cannot be formed"):
        run("DFT", [x, np.array(0, np.int64)])
    with pytest.raises(gantry.Error, match="cannot be cut from a signal"):
        run("STFT", [x, np.array(2, np.int64), None, np.array(9, np.int64)], 17)
    with pytest.raises(gantry.Error, match="cannot be cut from a signal"):
        run("STFT", [x, np.array(0, np.int64), None, np.array(4, np.int64)], 17)
    with pytest.raises(gantry.Error, match="requires real input"):
        run("DFT", [np.zeros((2, 8, 2), np.float32)], 20, {"onesided": 1})
