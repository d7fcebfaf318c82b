# SPDX-License-Identifier: Apache-2.0
"""silero_vad, which finds speech: If, LSTM, and a state that is fed back chunk after chunk, each runtime on its own."""

import numpy as np
import pytest
from compare_models import Pair
from model_files import model_file

CHUNKS = 20
SAMPLES = {16000: (512, 64), 8000: (256, 32)}  # of a chunk, and of the one before that are put in front of it


def sound(rate, count):
    """Something between a voice and a hum: harmonics of a wandering tone, louder and softer, with noise."""
    time = np.arange(count) / rate
    pitch = 2 * np.pi * np.cumsum(120 + 30 * np.sin(2 * np.pi * 1.3 * time)) / rate
    voice = sum(np.sin(k * pitch) / k for k in range(1, 12))
    loudness = np.clip(np.sin(2 * np.pi * 2.1 * time), 0.02, None)
    return (0.2 * voice * loudness + 0.01 * np.random.default_rng(rate).standard_normal(count)).astype(np.float32)


def chunks(rate):
    size, context = SAMPLES[rate]
    samples = np.concatenate([np.zeros(context, np.float32), sound(rate, CHUNKS * size)])
    return [samples[np.newaxis, i * size : i * size + size + context] for i in range(CHUNKS)]


def open_pair(variant, **options):
    return Pair(model_file(f"silero-vad/silero_vad/data/{variant}.onnx"), **options)


def feed_back(pair, rate, has_rate=True):
    """Runs all chunks, each runtime with the state it made; returns the probabilities."""
    ours = theirs = np.zeros((2, 1, 128), np.float32)
    fixed = {"sr": np.array(rate, np.int64)} if has_rate else {}
    found = []
    for chunk in chunks(rate):
        mine, other = pair.run_apart({"input": chunk, "state": ours, **fixed}, {"input": chunk, "state": theirs, **fixed})
        ours, theirs = mine["stateN"], other["stateN"]
        found.append(mine["output"].item())
    return found


@pytest.mark.parametrize("rate", [16000, 8000])
@pytest.mark.parametrize("variant", ["silero_vad", "silero_vad_op18_ifless"])
def test_both_rates(variant, rate):
    probabilities = feed_back(open_pair(variant), rate)
    assert np.ptp(probabilities) > 0.01, "the probabilities do not change, so that the comparison says little"


def test_rates_in_turn():
    pair = open_pair("silero_vad")
    for rate in (16000, 8000, 16000):
        feed_back(pair, rate)


def test_16k_only():
    feed_back(open_pair("silero_vad_16k_op15"), 16000)


def test_fixed_shapes():
    feed_back(open_pair("silero_vad_openvino_16k"), 16000, has_rate=False)


def test_half_precision():
    # Its f16 results are rounded at other places by each runtime.
    feed_back(open_pair("silero_vad_half", tolerance=5e-3), 16000, has_rate=False)


def test_sequence():
    pair = open_pair("silero_vad_16k_sequence")
    state = np.zeros((1, 1, 128), np.float32)
    frames = np.concatenate(chunks(16000))
    for some in (frames, frames[:7]):
        pair.run({"input": some, "h": state, "c": state})
