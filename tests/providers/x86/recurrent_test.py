# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU (resetting behind its product and before it) and RNN: sizes that fill no vector, batches that fill no tile, directions, states that come in and go out."""

import numpy as np
import pytest

import gantry

from small_graph import small_graph

GATES = {"LSTM": 4, "GRU": 3, "GRU before": 3, "RNN": 1}


def random(*shape, seed=0, scale=1.0):
    return (np.random.default_rng(seed + len(shape)).standard_normal(shape) * scale).astype(np.float32)


def recurrent(op, steps, batch, inputs, hidden, direction="forward", bias=True, states=False, outputs="y, h", rows=None):
    """A graph of one node, and what it is given."""
    d = 2 if direction == "bidirectional" else 1
    g = GATES[op]
    constants = {"w": random(d, g * hidden, inputs, seed=1, scale=0.3), "r": random(d, g * hidden, hidden, seed=2, scale=hidden**-0.5)}
    names = ["x", "w", "r", "", "", "", ""]
    x = random(steps, batch, inputs)
    feeds = {"x": (x, rows) if rows else x}
    if bias:
        constants["b"] = random(d, 2 * g * hidden, seed=3, scale=0.3)
        names[3] = "b"
    if states:
        names[5] = "h0"
        feeds["h0"] = random(d, batch, hidden, seed=4)
        if op == "LSTM":
            names[6] = "c0"
            feeds["c0"] = random(d, batch, hidden, seed=5)
    while not names[-1]:
        names.pop()
    reset = ", linear_before_reset=1" if op == "GRU" else ""
    return small_graph(f"{outputs} = {op.split()[0]}<hidden_size={hidden}, direction=\"{direction}\"{reset}>({', '.join(names)})", feeds, constants)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("hidden", [1, 8, 16, 19, 64, 250])
@pytest.mark.parametrize("batch", [1, 2, 5, 9])
def test_sizes(agrees, op, hidden, batch):
    model, feeds = recurrent(op, 4, batch, 7, hidden)
    agrees(model, feeds, ["x86.recurrent"])


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("bias, states", [(False, True), (True, True), (False, False)])
def test_directions_and_states(agrees, op, direction, bias, states):
    outputs = "y, h, c" if op == "LSTM" else "y, h"
    model, feeds = recurrent(op, 6, 3, 5, 20, direction, bias, states, outputs)
    agrees(model, feeds, ["x86.recurrent"])


def test_units_parted_among_threads(agrees):
    """One sequence in one direction, of so many units that each step is parted."""
    for op in GATES:
        model, feeds = recurrent(op, 3, 1, 32, 408)
        agrees(model, feeds, ["x86.recurrent"])


@pytest.mark.parametrize("wanted", [0, 1, 2])
def test_results_that_nobody_wants(agrees, wanted):
    model, feeds = recurrent("LSTM", 5, 2, 6, 24, "bidirectional", outputs="y, h, c")
    for place in {0, 1, 2} - {wanted}:
        model.graph.node[0].output[place] = ""
    for place in sorted({0, 1, 2} - {wanted}, reverse=True):
        del model.graph.output[place]
    agrees(model, feeds, ["x86.recurrent"])


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("per_channel", [False, True])
def test_weights_that_are_dequantized(agrees, op, dtype, per_channel):
    """By DequantizeLinear nodes, which are folded once, so that the layer is all that runs."""
    steps, batch, inputs, hidden, d, g = 5, 3, 9, 20, 2, GATES[op]
    limits = np.iinfo(dtype)
    constants = {"b": random(d, 2 * g * hidden, seed=3, scale=0.3)}
    lines = []
    for seed, (name, inner) in enumerate([("w", inputs), ("r", hidden)]):
        generator = np.random.default_rng(seed)
        count = g * hidden if per_channel else 1
        constants[f"{name}8"] = generator.integers(limits.min, limits.max, (d, g * hidden, inner), endpoint=True, dtype=dtype)
        constants[f"{name}s"] = (generator.uniform(0.5, 1.5, count) / 300).astype(np.float32).reshape(count if per_channel else ())
        constants[f"{name}z"] = generator.integers(limits.min // 9, limits.max // 9, constants[f"{name}s"].shape).astype(dtype)
        lines.append(f"{name} = DequantizeLinear<axis=1>({name}8, {name}s, {name}z)")
    reset = ", linear_before_reset=1" if op == "GRU" else ""
    lines.append(f'y, h = {op.split()[0]}<hidden_size={hidden}, direction="bidirectional"{reset}>(x, w, r, b)')
    model, feeds = small_graph("\n".join(lines), {"x": random(steps, batch, inputs)}, constants)
    agrees(model, feeds, ["x86.recurrent"])


@pytest.mark.parametrize("op", GATES)
def test_batch_first(op):
    """Against the same node with the steps first, which ONNX Runtime has: it refuses this layout."""
    model, feeds = recurrent(op, 5, 3, 6, 20, "bidirectional", states=True)
    config = {"session": {"threads": 2}}
    expected = gantry.Session(model, device="CPU", config=config).run(feeds)
    turned, _ = recurrent(op, 5, 3, 6, 20, "bidirectional", states=True)
    attribute = turned.graph.node[0].attribute.add()
    attribute.name, attribute.type, attribute.i = "layout", 2, 1
    for value in [*turned.graph.input, *turned.graph.output]:
        axes = value.type.tensor_type.shape.dim
        sizes = [axis.dim_value for axis in axes]
        order = [1, 0, 2] if len(sizes) == 3 else [2, 0, 1, 3]
        for axis, place in zip(axes, order, strict=True):
            axis.dim_value = sizes[place]
    session = gantry.Session(turned, device="CPU", config=config)
    assert [node.kernel for node in session.placement.nodes] == ["x86.recurrent"]
    found = session.run({name: np.ascontiguousarray(array.swapaxes(0, 1)) for name, array in feeds.items()})
    np.testing.assert_allclose(found["y"], expected["y"].transpose(2, 0, 1, 3), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["h"], expected["h"].swapaxes(0, 1), rtol=1e-5, atol=1e-6)


def test_lengths_and_batches_that_change():
    model, _ = recurrent("LSTM", 4, 2, 6, 24, "bidirectional", rows=["t", "n", 6], outputs="y")
    session = gantry.Session(model, device="CPU", config={"session": {"threads": 2}})
    for steps, batch in [(1, 1), (7, 3), (3, 9), (0, 2), (7, 3)]:
        alone, feeds = recurrent("LSTM", steps, batch, 6, 24, "bidirectional", outputs="y")
        found = session.run(feeds)["y"]
        assert found.shape == (steps, 2, batch, 24)
        if steps:
            np.testing.assert_array_equal(found, gantry.Session(alone, device="CPU", config={"session": {"threads": 2}}).run(feeds)["y"])


@pytest.mark.parametrize("op", GATES)
def test_what_is_not_a_number_stays_with_its_sequence(op):
    model, feeds = recurrent(op, 3, 2, 5, 20)
    feeds["x"][1, 0, 2] = np.nan
    y = gantry.Session(model, device="CPU").run(feeds)["y"]
    assert np.isnan(y[1:, :, 0]).all()
    assert not np.isnan(y[:, :, 1]).any()


def test_large_numbers(agrees):
    for op in GATES:
        model, feeds = recurrent(op, 3, 2, 5, 20)
        feeds["x"] *= np.float32(1e4)
        agrees(model, feeds, ["x86.recurrent"])


@pytest.mark.parametrize("text, reason", [("clip=3.0", "its sums are limited"), ("input_forget=1", "its gates are coupled"),
                                          ('activations=["Tanh", "Tanh", "Tanh"]', "other functions")])
def test_what_is_left_to_others(text, reason):
    model, feeds = small_graph(f"y = LSTM<hidden_size=4, {text}>(x, w, r)", {"x": random(2, 1, 3)}, {"w": random(1, 16, 3), "r": random(1, 16, 4)})
    node = gantry.Session(model, device="CPU").placement.nodes[0]
    assert not node.kernel.startswith("x86")
    assert reason in str(node)


def test_states_that_do_not_fit():
    model, feeds = recurrent("LSTM", 2, 2, 3, 4, states=True)
    for value in model.graph.input[1:]:
        value.type.tensor_type.shape.dim[1].dim_param = "any"
    session = gantry.Session(model, device="CPU")
    with pytest.raises(gantry.InvalidArgumentError, match=r"input 5, an initial state, was expected to have shape \[1, 2, 4\]"):
        session.run({**feeds, "h0": random(1, 3, 4)})
