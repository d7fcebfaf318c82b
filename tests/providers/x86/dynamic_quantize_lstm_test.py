# SPDX-License-Identifier: Apache-2.0
"""DynamicQuantizeLSTM against ONNX Runtime run live: sizes that fill no vector, weights whose sums would saturate, scales and zero points, directions, states."""

import numpy as np
import pytest

import gantry
from microsoft_models import model_of
from onnx import TensorProto, helper
from oracle import run_exact_ort

F32 = np.float32
KERNEL = "x86.dynamic_quantize_lstm"
# Both round to 8 bits; a state between two numbers may go to the other one, which moves a result by a few parts of 10,000. Without
# rounding, or by another scale, results of more than a few units are 2 to 20 times as far off as this.
ATOL = 1e-3


def random(*shape, seed=0, scale=1.0):
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) * scale).astype(F32)


def matrix(directions, inner, hidden, dtype, per_channel, zero, seed):
    """Numbers of all 8 bits, scales and zero points."""
    limits = np.iinfo(dtype)
    random_number = np.random.default_rng([seed, inner, hidden])
    shape = (directions, 4 * hidden) if per_channel else (directions,)
    numbers = random_number.integers(limits.min, limits.max, (directions, inner, 4 * hidden), endpoint=True, dtype=dtype)
    scales = (random_number.uniform(0.5, 1.5, shape) / (100 * np.sqrt(inner))).astype(F32)
    zeros = np.array(zero, dtype) * np.ones(directions, dtype)
    return numbers, scales, np.broadcast_to(zeros.reshape(directions, *[1] * (len(shape) - 1)), shape).copy()


def layer(steps=4, batch=2, inputs=7, hidden=16, direction="forward", bias=True, states=False, outputs="y yh yc", dtype=np.int8, per_channel=False,
          zero=0, given=None, open_batch=False, **attributes):
    """A model of one node, and what it is given. `given`: inputs by name, in place of what is made up."""
    d = 2 if direction == "bidirectional" else 1
    w, ws, wz = matrix(d, inputs, hidden, dtype, per_channel, zero, 1)
    r, rs, rz = matrix(d, hidden, hidden, dtype, per_channel, zero, 2)
    arrays = {"x": random(steps, batch, inputs), "w": w, "r": r, "b": random(d, 8 * hidden, seed=3, scale=0.3) if bias else None, "lengths": None,
              "h0": random(d, batch, hidden, seed=4) if states else None, "c0": random(d, batch, hidden, seed=5) if states else None, "p": None,
              "ws": ws, "wz": wz, "rs": rs, "rz": rz} | (given or {})
    constants = [name for name in ("w", "r", "b", "p", "ws", "wz", "rs", "rz") if arrays[name] is not None]
    names = {name: TensorProto.FLOAT for name in outputs.split()}
    return model_of("DynamicQuantizeLSTM", arrays, names, constants, hidden_size=hidden, direction=direction, open_batch=open_batch, **attributes)


def expected_of(model, feeds):
    """By ONNX Runtime on one thread, which then quantizes all states of a step as one matrix."""
    return run_exact_ort(model, feeds, threads=1)


def session_of(model, threads=2):
    return gantry.Session(model, device="CPU", config={"session": {"threads": threads}})


def kernels_of(session):
    return [node.kernel for node in session.placement.nodes]


def agree(model, feeds, atol=ATOL):
    expected = expected_of(model, feeds)
    results = []
    for threads in (1, 2):
        session = session_of(model, threads)
        assert kernels_of(session) == [KERNEL]
        for _ in range(2):  # the second from the plan of memory
            found = session.run(feeds)
            for output, one in zip(model.graph.output, expected, strict=True):
                assert found[output.name].shape == one.shape
                np.testing.assert_allclose(found[output.name], one, rtol=0, atol=atol)
        results.append(list(found.values()))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("hidden", [1, 8, 16, 19, 64, 250])
@pytest.mark.parametrize("batch", [1, 2, 5, 9, 13])
def test_sizes(hidden, batch):
    agree(*layer(batch=batch, hidden=hidden))


@pytest.mark.parametrize("inputs", [1, 3, 4, 31, 320])
def test_widths_of_the_input(inputs):
    agree(*layer(steps=9, batch=3, inputs=inputs, hidden=24, direction="bidirectional"))


@pytest.mark.parametrize("steps", [16, 21, 50, 67])
def test_rows_of_the_input_that_are_many_tiles(steps):
    agree(*layer(steps=steps, batch=3, inputs=20, hidden=18, direction="bidirectional"))


@pytest.mark.parametrize("dtype, zero", [(np.int8, 0), (np.uint8, 128), (np.uint8, 0), (np.uint8, 201)])
@pytest.mark.parametrize("per_channel", [False, True])
def test_scales_and_zero_points(dtype, zero, per_channel):
    agree(*layer(inputs=33, hidden=40, batch=3, direction="bidirectional", dtype=dtype, zero=zero, per_channel=per_channel))


def test_a_zero_point_of_each_direction():
    """With one scale for each; with one for each column ONNX Runtime takes one zero point alone."""
    agree(*layer(inputs=33, hidden=40, batch=3, direction="bidirectional", dtype=np.uint8, zero=[97, 140]))


@pytest.mark.parametrize("number", [127, -128])
def test_sums_that_saturate_in_16_bits(number):
    """All weights the largest or the least, and inputs at the upper end of their range."""
    w, r = (np.full((1, inner, 64), number, np.int8) for inner in (80, 16))
    small = np.full(1, 1e-5, F32)
    agree(*layer(inputs=80, states=True, given={"w": w, "r": r, "ws": small, "rs": small, "x": np.abs(random(4, 2, 80)) + 1, "h0": np.abs(random(1, 2, 16)) + 1}), atol=1e-5)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("bias, states", [(False, True), (True, True), (False, False)])
def test_directions_and_states(direction, bias, states):
    agree(*layer(steps=6, batch=3, inputs=5, hidden=20, direction=direction, bias=bias, states=states))


def test_units_parted_among_threads():
    """One direction, of so many units that each step is parted."""
    agree(*layer(steps=3, batch=1, inputs=32, hidden=408))
    agree(*layer(steps=3, batch=9, inputs=32, hidden=200))


@pytest.mark.parametrize("wanted", ["y", "yh", "yc"])
def test_results_that_nobody_wants(wanted):
    model, feeds = layer(steps=5, inputs=6, hidden=24, direction="bidirectional")
    node = model.graph.node[0]
    node.output[:] = [name if name == wanted else "" for name in node.output]
    kept = [output for output in model.graph.output if output.name == wanted]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    agree(model, feeds)


def test_lengths_and_batches_that_change():
    model, _ = layer(inputs=6, hidden=24, direction="bidirectional", outputs="y", open_batch=True)
    session = session_of(model)
    for steps, batch in [(1, 1), (7, 3), (3, 9), (0, 2), (7, 3)]:
        alone, feeds = layer(steps, batch, 6, 24, "bidirectional", outputs="y")
        found = session.run(feeds)["y"]
        assert found.shape == (steps, 2, batch, 24)
        if steps:
            np.testing.assert_array_equal(found, session_of(alone).run(feeds)["y"])


@pytest.mark.parametrize("factor", [0, 1e-42, 1e-30, 1e4, 1e30])
def test_small_and_large_numbers(factor):
    agree(*layer(hidden=20, given={"x": random(4, 2, 7) * F32(factor)}))


def test_one_sided_ranges():
    """Zero is in the range of the numbers, whatever these are."""
    for sign in (1, -1):
        agree(*layer(hidden=20, given={"x": sign * (np.abs(random(4, 2, 7)) + 3)}))


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_seen(odd):
    """It has no place among 256 numbers: the whole matrix has no scale. ONNX Runtime returns numbers."""
    model, feeds = layer(batch=3, states=True)
    session = session_of(model)
    for name, at in (("x", (2, 1, 3)), ("h0", (0, 1, 5))):
        changed = {other: array.copy() for other, array in feeds.items()}
        changed[name][at] = odd
        assert all(np.isnan(one).all() for one in session.run(changed).values())


LEFT_TO_OTHERS = {
    "peepholes": ({"given": {"p": random(1, 48, seed=6, scale=0.3)}}, "its cells are seen by its gates"),
    "lengths": ({"given": {"lengths": np.array([4, 2], np.int32)}}, "its sequences may differ in length"),
    "clip": ({"clip": 0.4}, "its sums are limited"),
    "coupled": ({"input_forget": 1}, "its gates are coupled"),
    "functions": ({"activations": ["Sigmoid", "Relu", "Tanh"]}, "other functions"),
}


@pytest.mark.parametrize("what", LEFT_TO_OTHERS)
def test_what_the_function_body_computes(what):
    """It keeps in floats what ONNX Runtime rounds."""
    arguments, reason = LEFT_TO_OTHERS[what]
    model, feeds = layer(**arguments)
    session = session_of(model)
    assert KERNEL not in kernels_of(session)
    for output, one in zip(model.graph.output, expected_of(model, feeds), strict=True):
        np.testing.assert_allclose(session.run(feeds)[output.name], one, rtol=0, atol=0.03)
    (node,) = (node for node in session.placement.nodes if node.op_type == "LSTM")
    assert reason in str(node)


def test_zero_points_that_differ_from_column_to_column():
    zeros = np.arange(64, dtype=np.uint8).reshape(1, 64)
    model, feeds = layer(dtype=np.uint8, per_channel=True, given={"wz": zeros})
    session = session_of(model)
    assert KERNEL not in kernels_of(session)
    assert all(np.isfinite(one).all() for one in session.run(feeds).values())


def test_weights_of_the_run():
    # Of 7 bits: without VNNI ONNX Runtime's sums saturate, which it can be told to avoid where both matrices are constants alone.
    halves = {name: matrix(1, inner, 16, np.int8, False, 0, seed)[0] // 2 for name, inner, seed in (("w", 7, 1), ("r", 16, 2))}
    model, feeds = layer(given=halves)
    kept = [tensor for tensor in model.graph.initializer if tensor.name != "w"]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.INT8, halves["w"].shape))
    feeds["w"] = halves["w"]
    session = session_of(model)
    assert KERNEL not in kernels_of(session)
    for output, one in zip(model.graph.output, expected_of(model, feeds), strict=True):
        np.testing.assert_allclose(session.run(feeds)[output.name], one, rtol=0, atol=0.03)


def test_states_that_do_not_fit():
    model, feeds = layer(inputs=3, hidden=4, states=True, open_batch=True)
    with pytest.raises(gantry.InvalidArgumentError, match=r"input 5, an initial state, was expected to have shape \[1, 2, 4\]"):
        session_of(model).run({**feeds, "h0": random(1, 3, 4)})
