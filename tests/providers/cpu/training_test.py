# SPDX-License-Identifier: Apache-2.0
"""Steps of training against ONNX's reference evaluator."""

import numpy as np
import pytest
from onnx import TensorProto
from oracle import compare, node_model, run_gantry, run_reference

import gantry

DOMAIN = "ai.onnx.preview.training"
COMMON = {"norm_coefficient": 0.01}
STEPS = [
    ("Adagrad", 1, {"decay_factor": 0.1, "epsilon": 1e-5}),
    ("Adam", 2, {"alpha": 0.95, "beta": 0.85, "epsilon": 1e-5, "norm_coefficient_post": 0.02}),
    ("Momentum", 1, {"alpha": 0.9, "beta": 1.1, "mode": "standard"}),
    ("Momentum", 1, {"alpha": 0.9, "beta": 1.1, "mode": "nesterov"}),
]


def inputs_of(states, dtype, tensors, updates):
    rng = np.random.default_rng(1)
    shapes = [(3, 4), (5,)][:tensors]
    lists = [[np.abs(rng.normal(size=shape)).astype(dtype) for shape in shapes] for _ in range(2 + states)]
    return [np.array(0.1, dtype), np.array(updates, np.int64), *[x for group in lists for x in group]]


@pytest.mark.parametrize("op_type, states, attributes", STEPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tensors", [1, 2])
@pytest.mark.parametrize("updates", [0, 3])
def test_steps(op_type, states, attributes, dtype, tensors, updates):
    kind = TensorProto.FLOAT if dtype == np.float32 else TensorProto.DOUBLE
    inputs = inputs_of(states, dtype, tensors, updates)
    model, feeds = node_model(op_type, inputs, [kind] * (tensors * (1 + states)), 15, {**COMMON, **attributes}, DOMAIN)
    compare(run_gantry(model, feeds), [np.asarray(y, dtype) for y in run_reference(model, feeds)], 1e-5, 1e-6)


def test_shapes_that_differ_are_said():
    inputs = inputs_of(1, np.float32, 1, 0)
    inputs[3] = inputs[3][:2]
    model, feeds = node_model("Adagrad", inputs, [TensorProto.FLOAT] * 2, 15, {}, DOMAIN)
    with pytest.raises(gantry.Error, match="needs the type and shape"):
        run_gantry(model, feeds)
