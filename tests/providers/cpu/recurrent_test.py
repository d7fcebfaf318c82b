# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN against ONNX Runtime: directions, lengths, states, activations, layouts, element types."""

import numpy as np
import pytest

import gantry
from oracle import NUMPY_OF, compare, node_model, run_gantry, run_ort

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, INPUT, HIDDEN = 6, 3, 5, 7


def random(*shape, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 0.5).astype(np.float32)


def operands(op_type, directions=1, bias=True, lengths=None, states=True, peepholes=False, sizes=(STEPS, BATCH, INPUT, HIDDEN)):
    steps, batch, inputs, hidden = sizes
    gates = GATES[op_type]
    result = [random(steps, batch, inputs), random(directions, gates * hidden, inputs, seed=1),
              random(directions, gates * hidden, hidden, seed=2),
              random(directions, 2 * gates * hidden, seed=3) if bias else None,
              None if lengths is None else np.array(lengths, np.int32),
              random(directions, batch, hidden, seed=4) if states else None]
    if op_type == "LSTM":
        result += [random(directions, batch, hidden, seed=5) if states else None,
                   random(directions, 3 * hidden, seed=6) if peepholes else None]
    while result[-1] is None:
        result.pop()
    return result


def output_types(op_type, onnx_type=1):
    return [onnx_type] * (3 if op_type == "LSTM" else 2)


def check(op_type, inputs, attributes=None, opset=14):
    attributes = {"hidden_size": inputs[2].shape[2]} | (attributes or {})
    model, feeds = node_model(op_type, inputs, output_types(op_type), opset, attributes)
    compare(run_gantry(model, feeds), run_ort(model, feeds), 1e-4, 1e-5)


@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [None, [6, 2, 4], [1, 1, 3]])
@pytest.mark.parametrize("states", [False, True])
def test_directions(op_type, direction, lengths, states):
    directions = 2 if direction == "bidirectional" else 1
    check(op_type, operands(op_type, directions, lengths=lengths, states=states), {"direction": direction})


@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("opset", [7, 14, 22])
@pytest.mark.parametrize("bias", [False, True])
def test_versions(op_type, opset, bias):
    check(op_type, operands(op_type, bias=bias, states=False), opset=opset)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("lengths", [None, [6, 2, 4]])
@pytest.mark.parametrize("attributes", [{}, {"input_forget": 1}, {"clip": 0.3}], ids=["plain", "coupled", "clipped"])
def test_peepholes(direction, lengths, attributes):
    directions = 2 if direction == "bidirectional" else 1
    check("LSTM", operands("LSTM", directions, lengths=lengths, peepholes=True), {"direction": direction} | attributes)


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_linear_before_reset(after, bias, direction):
    directions = 2 if direction == "bidirectional" else 1
    check("GRU", operands("GRU", directions, bias=bias, lengths=[6, 2, 4]),
          {"linear_before_reset": after, "direction": direction})


@pytest.mark.parametrize("op_type", GATES)
def test_clip(op_type):
    check(op_type, operands(op_type), {"clip": 0.4})


@pytest.mark.parametrize("name, alpha, beta", [
    ("Relu", None, None), ("Tanh", None, None), ("Sigmoid", None, None), ("Affine", 0.7, 0.1), ("LeakyRelu", 0.2, None),
    ("ThresholdedRelu", 0.3, None), ("ScaledTanh", 0.8, 1.3), ("HardSigmoid", 0.3, 0.4), ("Elu", 0.6, None),
    ("Softsign", None, None), ("Softplus", None, None),
])
@pytest.mark.parametrize("op_type", GATES)
def test_activations(op_type, name, alpha, beta):
    count = {"LSTM": 3, "GRU": 2, "RNN": 1}[op_type]
    attributes = {"activations": ["Sigmoid"] * (count - 1) + [name]}
    if alpha is not None:
        attributes["activation_alpha"] = [alpha]
    if beta is not None:
        attributes["activation_beta"] = [beta]
    check(op_type, operands(op_type), attributes)


@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_batch_first(op_type, direction):
    """The other layout is the same computation on transposed tensors."""
    directions = 2 if direction == "bidirectional" else 1
    inputs = operands(op_type, directions, lengths=[6, 2, 4])
    plain, feeds = node_model(op_type, inputs, output_types(op_type), 14, {"hidden_size": HIDDEN, "direction": direction})
    expected = run_gantry(plain, feeds)
    swapped = [x if x is None else np.ascontiguousarray(x.swapaxes(0, 1)) if i in (0, 5, 6) else x for i, x in enumerate(inputs)]
    model, feeds = node_model(op_type, swapped, output_types(op_type), 14,
                              {"hidden_size": HIDDEN, "direction": direction, "layout": 1})
    actual = run_gantry(model, feeds)
    compare(actual[0], expected[0].transpose(2, 0, 1, 3), 1e-5, 1e-6)
    for a, e in zip(actual[1:], expected[1:]):
        compare(a, e.swapaxes(0, 1), 1e-5, 1e-6)


@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("name", ["double", "float16", "bfloat16"])
def test_types(op_type, name):
    inputs = [x if x is None or x.dtype != np.float32 else x.astype(NUMPY_OF[name]) for x in operands(op_type, lengths=[6, 2, 4])]
    onnx_type = {"double": 11, "float16": 10, "bfloat16": 16}[name]
    model, feeds = node_model(op_type, inputs, output_types(op_type, onnx_type), 22, {"hidden_size": HIDDEN})
    wide = [x if x is None or x.dtype == np.int32 else x.astype(np.float32) for x in inputs]
    reference, wide_feeds = node_model(op_type, wide, output_types(op_type), 14, {"hidden_size": HIDDEN})
    expected = [y.astype(NUMPY_OF[name]) for y in run_ort(reference, wide_feeds)]
    tolerance = {"double": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}[name]
    compare(run_gantry(model, feeds), expected, tolerance, tolerance)


@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("batch", [1, 9])
def test_large(op_type, batch):
    inputs = operands(op_type, 2, sizes=(20, batch, 130, 150))
    # With larger weights so wide a network is chaotic: rounding errors grow with each step.
    inputs = [x if x is None else x * np.float32(0.1) for x in inputs]
    check(op_type, inputs, {"direction": "bidirectional"})


@pytest.mark.parametrize("place, shape", [(0, (6, 3)), (1, (1, 28, 4)), (2, (1, 27, 7)), (3, (1, 28)), (5, (1, 2, 7)), (6, (2, 3, 7))])
def test_refuses_other_shapes(place, shape):
    inputs = operands("LSTM")
    inputs[place] = random(*shape)
    model, feeds = node_model("LSTM", inputs, output_types("LSTM"), 14)
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
    with pytest.raises(gantry.Error):
        run_gantry(model, feeds)


@pytest.mark.parametrize("lengths", [[7, 1, 1], [-1, 1, 1]])
def test_refuses_other_lengths(lengths):
    model, feeds = node_model("LSTM", operands("LSTM", lengths=lengths), output_types("LSTM"), 14)
    with pytest.raises(gantry.Error, match="sequence length"):
        run_gantry(model, feeds)
