# SPDX-License-Identifier: Apache-2.0
"""Convolutions of 3 x 3 by Winograd's filtering, in both tiles: against ONNX Runtime run live, and which of them are done so."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import pytest

import gantry
from oracle import run_oracle, run_reference
from sanitizer import compares_times
from small_graph import small_graph

TILES = ["2x2", "4x4"]
LEVEL = "GANTRY_TEST_WINOGRAD_CODE"  # in the environment: the code that must be in use


def random(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape, np.float32)


def session_of(model, option, threads=1):
    config = {"session": {"threads": threads}, "providers": {"options": {"x86": {"winograd": option}}}}
    return gantry.Session(model, device="CPU", config=config)


def spans_of(model, feeds, option, folder, threads=1):
    """What kernels of a run name as their parts, in order."""
    path = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "trace.json"  # one that is there is not written over
    config = {"session": {"threads": threads, "profile": str(path)}, "providers": {"options": {"x86": {"winograd": option}}}}
    session = gantry.Session(model, device="CPU", config=config)
    session.run(feeds)
    del session
    return [event["name"] for event in json.loads(path.read_text())["traceEvents"] if event["name"].startswith("winograd")]


def check(model, feeds, folder, tiles=TILES, count=1):
    """All convolutions are done in each tile, with the instructions asked for, and no result is off by more than 1e-4 of the largest."""
    expected = run_oracle(model, feeds)
    for tile in tiles:
        spans = spans_of(model, feeds, tile, folder)
        assert len(spans) == count and set(spans) == {f"winograd {tile} {os.environ.get(LEVEL) or spans[0].split()[-1]}"}
        for threads in (1, 2, 3):
            session = session_of(model, tile, threads)
            for _ in range(2):  # the second from the plan of memory
                results = session.run(feeds)
                for output, exact in zip(model.graph.output, expected, strict=True):
                    found = results[output.name]
                    assert found.shape == exact.shape and found.dtype == exact.dtype
                    off = np.abs(found - exact).max(initial=0)
                    assert off <= 1e-4 * np.abs(exact).max(initial=0), (tile, threads, off)


SHAPES = {  # batch, channels, filters, height, width, pads
    "whole_tiles": (1, 16, 32, 8, 8, [1, 1, 1, 1]),
    "no_padding": (1, 16, 32, 10, 14, [0, 0, 0, 0]),
    "odd_extents": (1, 16, 32, 13, 7, [1, 1, 1, 1]),
    "one_place": (1, 5, 3, 3, 3, [0, 0, 0, 0]),
    "one_row": (1, 8, 8, 1, 9, [1, 1, 1, 1]),
    "one_column": (1, 8, 8, 9, 1, [1, 1, 1, 1]),
    "asymmetric": (1, 16, 16, 9, 11, [0, 2, 1, 0]),
    "padding_behind": (2, 16, 16, 6, 6, [0, 0, 2, 2]),
    "much_padding": (1, 4, 4, 3, 2, [5, 6, 7, 4]),
    "batch": (3, 20, 24, 11, 10, [1, 1, 1, 1]),
    "one_channel": (1, 1, 17, 12, 12, [1, 1, 1, 1]),
    "one_filter": (2, 17, 1, 12, 12, [1, 1, 1, 1]),
    "odd_channels": (1, 33, 37, 29, 30, [1, 1, 1, 1]),
    "odd_below_vectors": (1, 15, 31, 9, 9, [1, 1, 1, 1]),
    "many_tiles": (1, 8, 16, 120, 130, [1, 1, 1, 1]),
    "many_channels": (1, 300, 70, 14, 14, [1, 1, 1, 1]),
    "groups_of_tiles_together": (5, 520, 33, 24, 21, [1, 1, 1, 1]),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes(case, tmp_path):
    batch, channels, filters, height, width, pads = SHAPES[case]
    model, feeds = small_graph(f"y = Conv<pads={pads}>(x, w, b)", {"x": random(batch, channels, height, width)},
                               {"w": random(filters, channels, 3, 3), "b": random(filters)})
    check(model, feeds, tmp_path)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_automatic_padding(auto_pad, tmp_path):
    model, feeds = small_graph(f'y = Conv<auto_pad="{auto_pad}">(x, w)', {"x": random(1, 9, 10, 12)}, {"w": random(10, 9, 3, 3)})
    check(model, feeds, tmp_path)


def test_rows_of_tiles_of_every_number(tmp_path):
    # The product's code differs with the number of tiles, and how they are divided with that of the rows.
    for width in range(1, 61, 4):
        model, feeds = small_graph("y = Conv<pads=[1,1,1,1]>(x, w)", {"x": random(1, 6, 4, width)}, {"w": random(33, 6, 3, 3)})
        check(model, feeds, tmp_path)


NORM = {"scale": random(24, seed=1), "shift": random(24, seed=2), "mean": random(24, seed=3), "variance": np.abs(random(24, seed=4)) + 0.1}
BOUNDS = {"low": np.float32(-0.5), "high": np.float32(3)}
EPILOGUES = {
    "relu": ("y = Relu(a)", {}),
    "leaky_relu": ("y = LeakyRelu<alpha=0.2>(a)", {}),
    "clip": ("y = Clip(a, low, high)", BOUNDS),
    "clip_above": ("y = Clip(a, , high)", {"high": BOUNDS["high"]}),
    "hard_sigmoid": ("y = HardSigmoid<alpha=0.3, beta=0.4>(a)", {}),
    "hard_swish": ("y = HardSwish(a)", {}),
    "sigmoid": ("y = Sigmoid(a)", {}),
    "swish": ("s = Sigmoid(a)\n y = Mul(a, s)", {}),
    "mish": ("y = Mish(a)", {}),
    "sigmoid_of_large_numbers": ("b = Mul(a, ten)\n y = Sigmoid(b)", {"ten": np.float32(10)}),
    "swish_of_large_numbers": ("b = Mul(a, ten)\n s = Sigmoid(b)\n y = Mul(b, s)", {"ten": np.float32(10)}),
    "mish_of_large_numbers": ("b = Mul(a, ten)\n y = Mish(b)", {"ten": np.float32(10)}),
    "normalisation": ("b = BatchNormalization(a, scale, shift, mean, variance)\n y = Relu(b)", NORM),
    "scale_and_shift": ("b = Mul(a, m)\n c = Add(p, b)\n y = LeakyRelu<alpha=0.2>(c)", {"m": random(24, 1, 1), "p": random(1, 24, 1, 1)}),
    "two_functions": ("b = HardSwish(a)\n y = Clip(b, low, high)", BOUNDS),
    "addition": ("y = Add(a, r)", {}),
    "addition_and_function": ("b = Add(a, r)\n y = Relu(b)", {}),
    "function_and_addition": ("b = Relu(a)\n y = Add(r, b)", {}),
    "between_functions": ("b = Clip(a, low, high)\n c = Add(r, b)\n y = HardSwish(c)", BOUNDS),
}


@pytest.mark.parametrize("case", EPILOGUES)
def test_what_is_done_before_results_are_stored(case, tmp_path):
    text, constants = EPILOGUES[case]
    residual = {"r": random(2, 24, 13, 10, seed=7)} if re.search(r"\br\b", text) else {}
    model, feeds = small_graph(f"a = Conv<pads=[1,1,1,1]>(x, w, bias)\n {text}", {"x": random(2, 18, 13, 10), **residual},
                               {"w": random(24, 18, 3, 3), "bias": random(24, seed=5), **constants})
    (kernel,) = {node.kernel for node in session_of(model, "4x4").placement.nodes}
    assert kernel.startswith("x86.conv+")
    check(model, feeds, tmp_path)


def test_residuals_between_convolutions(tmp_path):
    # `b` is added in place or read, channels-last; the outputs leave in dense order.
    model, feeds = small_graph(
        """a = Conv<pads=[1,1,1,1]>(x, w)
           b = Relu(a)
           c = Conv<pads=[1,1,1,1]>(b, v)
           d = Add(b, c)
           e = Relu(d)
           f = Conv<pads=[1,1,1,1]>(e, v)
           g = Add(f, e)
           y = Relu(g)
           z = Conv<pads=[1,1,1,1]>(g, v)""", {"x": random(1, 6, 14, 13)}, {"w": random(20, 6, 3, 3), "v": random(20, 20, 3, 3) / 14})
    check(model, feeds, tmp_path, count=4)


@pytest.mark.parametrize("spatial", [(14, 13), (3, 3)])
def test_a_residual_whose_memory_the_result_takes_over(spatial, tmp_path):
    # Both in dense order: Abs and Neg are another provider's.
    h, w = (extent - 2 for extent in spatial)
    model, feeds = small_graph("r = Abs(q)\n a = Conv(x, w)\n b = Add(a, r)\n c = Relu(b)\n y = Neg(c)",
                               {"x": random(2, 6, *spatial), "q": random(2, 8, h, w)}, {"w": random(8, 6, 3, 3)})
    check(model, feeds, tmp_path)


def test_extents_that_are_known_at_the_run_only(tmp_path):
    x = random(2, 12, 17, 9)
    model, feeds = small_graph("y = Conv<pads=[1,1,1,1]>(x, w)", {"x": (x, ["n", 12, "h", "w"])}, {"w": random(20, 12, 3, 3)})
    check(model, feeds, tmp_path)
    session = session_of(model, "4x4")
    for extents in [(1, 12, 5, 5), (3, 12, 1, 40), (0, 12, 5, 5), (2, 12, 17, 9)]:
        x = random(*extents, seed=9)
        (exact,) = run_oracle(model, {"x": x}) if extents[0] else [np.zeros((0, 20, 5, 5), np.float32)]
        np.testing.assert_allclose(session.run({"x": x})["y"], exact, rtol=1e-4, atol=1e-3)
    with pytest.raises(gantry.InvalidArgumentError):
        session.run({"x": random(1, 11, 5, 5)})


OTHERS = {  # what is left to the library
    "stride": "y = Conv<strides=[1,2]>(x, w)",
    "dilation": "y = Conv<dilations=[2,1]>(x, w)",
    "window": "y = Conv(x, w31)",
    "group": "y = Conv<group=2>(x, w6)",
    "function": "a = Conv(x, w)\n y = Tanh(a)",
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_is_left_to_the_library(case, tmp_path):
    constants = {"w": random(8, 12, 3, 3), "w31": random(8, 12, 3, 1), "w6": random(8, 6, 3, 3)}
    model, feeds = small_graph(OTHERS[case], {"x": random(1, 12, 12, 12)}, {k: v for k, v in constants.items() if f"{k})" in OTHERS[case]})
    assert spans_of(model, feeds, "4x4", tmp_path) == []
    (expected,) = run_oracle(model, feeds)
    np.testing.assert_allclose(session_of(model, "4x4").run(feeds)["y"], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("channels, extent, tile", [(64, 56, "4"), (160, 7, "no")])
def test_where_numbers_tell_nothing_is_measured(channels, extent, tile, tmp_path):
    if os.environ.get(LEVEL) == "plain":
        pytest.skip("the numbers are those of vectors")
    model, _ = small_graph("y = Conv<pads=[1,1,1,1]>(x, w)", {"x": random(1, channels, extent, extent)}, {"w": random(channels, channels, 3, 3)})
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    code = "import gantry, sys; gantry.Session(sys.argv[1], config={'session': {'artefact_cache': sys.argv[2]}})"
    done = subprocess.run([sys.executable, "-c", code, path, tmp_path / "cache"], env={**os.environ, "ONEDNN_VERBOSE": "1"}, capture_output=True, text=True,
                          check=True, timeout=60)
    ran = [line for line in done.stdout.splitlines() if ",exec," in line]
    assert [line for line in ran if ",convolution," in line] == []
    (kept,) = (tmp_path / "cache").glob("*.artefact")
    assert f"8:winograd{len(tile)}:{tile}".encode() in kept.read_bytes()


@compares_times
def test_the_faster_way_is_taken(tmp_path):
    # Twice as fast and more on every machine: 4 times fewer multiplications, of small weights.
    model, feeds = small_graph("y = Conv<pads=[1,1,1,1]>(x, w)", {"x": random(1, 64, 56, 56)}, {"w": random(64, 64, 3, 3)})
    (span,) = spans_of(model, feeds, "auto", tmp_path)
    assert span.split()[1] in TILES
    # Too little work to be worth measuring.
    model, feeds = small_graph("y = Conv<pads=[1,1,1,1]>(x, w)", {"x": random(1, 16, 12, 12)}, {"w": random(16, 16, 3, 3)})
    assert spans_of(model, feeds, "auto", tmp_path) == []


def test_off_is_the_library(tmp_path):
    model, feeds = small_graph("y = Conv<pads=[1,1,1,1]>(x, w)", {"x": random(1, 64, 56, 56)}, {"w": random(64, 64, 3, 3)})
    assert spans_of(model, feeds, "off", tmp_path) == []


def test_equal_weights_are_held_once_and_others_are_not_mixed_up():
    def model_of(scale):
        return small_graph("y = Conv<pads=[1,1,1,1]>(x, w)", {"x": random(1, 16, 9, 9)}, {"w": random(32, 16, 3, 3) * np.float32(scale)})

    one, feeds = model_of(1)
    two, _ = model_of(2)
    results = [session_of(model, tile).run(feeds)["y"] for model in (one, one, two) for tile in TILES]
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_array_equal(results[1], results[3])
    np.testing.assert_allclose(results[4], 2 * results[0], rtol=1e-5, atol=1e-4)


def test_an_option_that_there_is_not():
    model, _ = small_graph("y = Relu(x)", {"x": random(4)})
    with pytest.raises(gantry.Error, match="winograd"):
        session_of(model, "6x6")


@pytest.mark.skipif(LEVEL in os.environ, reason="this is a run at one level")
@pytest.mark.parametrize("level, instructions", [("SSE41", "plain"), ("AVX2", "avx2")])
def test_instructions_of_older_cpus(level, instructions):
    # The library reads the variable once, when it starts.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", pathlib.Path(__file__)]
    done = subprocess.run(command, env={**os.environ, "ONEDNN_MAX_CPU_ISA": level, LEVEL: instructions}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout


STRANGE = {"nan": np.nan, "inf": np.inf, "minus_inf": -np.inf, "largest": 3e38, "large": -1e30}
STRANGE_EPILOGUES = {
    "none": "y = Identity(a)", "relu": "y = Relu(a)", "leaky_relu": "y = LeakyRelu<alpha=0.2>(a)", "hard_sigmoid": "y = HardSigmoid<alpha=0.3>(a)",
    "sigmoid": "y = Sigmoid(a)", "swish": "s = Sigmoid(a)\n y = Mul(a, s)", "mish": "y = Mish(a)", "addition": "y = Add(a, r)",
}


def convolved(x, w):
    """[1, C, H, W] by the definition, padded by 1, in double; sums of what is no float at the end are infinite."""
    padded = np.pad(x[0].astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    height, width = x.shape[2:]
    sums = np.zeros((w.shape[0], height, width))
    for row in range(3):
        for column in range(3):
            part = padded[:, row:row + height, column:column + width]
            sums += np.einsum("fchw->fhw", w[:, :, row, column, None, None].astype(np.float64) * part)
    return sums.astype(np.float32)[None]


@pytest.mark.parametrize("channels, filters", [(5, 20), (520, 33)])
@pytest.mark.parametrize("number", STRANGE)
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_no_number_stays_where_it_is(threads, tile, number, channels, filters):
    """The transforms would spread it over a tile. Weights with zeros: infinity times 0 is NaN. The second case keeps its weights as taps."""
    x, w = random(1, channels, 13, 14), random(filters, channels, 3, 3)
    w[::3, :, 1] = 0
    w[1::3, :, :, 0] = 0
    x[0, 1, 0, 0] = x[0, 3, 6, 7] = x[0, channels - 1, 12, 5] = STRANGE[number]
    model, feeds = small_graph("y = Conv<pads=[1,1,1,1]>(x, w)", {"x": x}, {"w": w})
    session = session_of(model, tile, threads)
    with np.errstate(all="ignore"):
        expected = convolved(x, w)
    assert np.isfinite(expected).any() and (number == "large" or not np.isfinite(expected).all())
    for _ in range(2):
        np.testing.assert_allclose(session.run(feeds)["y"], expected, rtol=5e-4, atol=2e-3)  # small taps are restored with that error


@pytest.mark.parametrize("number", STRANGE)
@pytest.mark.parametrize("epilogue", STRANGE_EPILOGUES)
@pytest.mark.parametrize("tile", TILES)
def test_epilogues_of_what_is_no_number(tile, epilogue, number, tmp_path):
    x = random(1, 16, 8, 8)
    x[0, 2, 4, 4] = STRANGE[number]
    feeds = {"x": x, **({"r": random(1, 24, 8, 8)} if epilogue == "addition" else {})}
    model, feeds = small_graph(f"a = Conv<pads=[1,1,1,1]>(x, w)\n {STRANGE_EPILOGUES[epilogue]}", feeds, {"w": random(24, 16, 3, 3)})
    assert len(spans_of(model, feeds, tile, tmp_path)) == 1
    (expected,) = run_reference(model, feeds)
    np.testing.assert_allclose(session_of(model, tile).run(feeds)["y"], expected, rtol=5e-4, atol=1e-3)


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e38])
def test_weights_that_are_no_numbers_are_not_transformed(number, tmp_path):
    w = random(8, 4, 3, 3)
    w[2, 1, 0, 0] = number  # without padding, which the library does not multiply
    model, feeds = small_graph("y = Conv(x, w)", {"x": random(1, 4, 7, 9)}, {"w": w})
    assert spans_of(model, feeds, "4x4", tmp_path) == []
    (expected,) = run_oracle(model, feeds)
    np.testing.assert_allclose(session_of(model, "4x4").run(feeds)["y"], expected, rtol=1e-5, atol=1e-4)
