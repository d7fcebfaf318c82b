# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers of more units, rows and functions than ONNX's cases have, compared with the CPU provider."""

import numpy as np
import pytest
from cuda_worker import compare_all
from small_graph import small_graph

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STATES = {"RNN": 1, "GRU": 1, "LSTM": 2}


def random(*shape, dtype=np.float32, seed=0):
    return (np.random.default_rng(seed + sum(shape)).standard_normal(shape) * 0.5).astype(dtype)


def layer(op_type, attributes="", steps=5, rows=3, numbers=7, hidden=12, directions=1, optional=("bias", "state"), batch_first=False, dtype=np.float32):
    """A model of one layer and its feeds."""
    gates = GATES[op_type] * hidden
    ends = (rows, directions, hidden) if batch_first else (directions, rows, hidden)
    feeds = {"x": random(*((rows, steps) if batch_first else (steps, rows)), numbers, dtype=dtype)}
    constants = {"w": random(directions, gates, numbers, dtype=dtype, seed=1), "r": random(directions, gates, hidden, dtype=dtype, seed=2)}
    names = ["x", "w", "r", "", "", "", "", ""]
    if "bias" in optional:
        constants["b"], names[3] = random(directions, 2 * gates, dtype=dtype, seed=3), "b"
    if "lengths" in optional:
        feeds["n"], names[4] = (np.arange(rows) * steps // max(rows - 1, 1)).astype(np.int32), "n"
    if "state" in optional:
        feeds["h"], names[5] = random(*ends, dtype=dtype, seed=4), "h"
        if op_type == "LSTM":
            feeds["c"], names[6] = random(*ends, dtype=dtype, seed=5), "c"
    if "peepholes" in optional:
        constants["p"], names[7] = random(directions, 3 * hidden, dtype=dtype, seed=6), "p"
    while not names[-1]:
        names.pop()
    given = ", ".join(filter(None, [f"hidden_size={hidden}", "layout=1" if batch_first else "", attributes]))
    outputs = ", ".join(["y", "yh", "yc"][:1 + STATES[op_type]])
    return small_graph(f"{outputs} = {op_type}<{given}>({', '.join(names)})", feeds, constants, opset=21)


def check(worker, model, dtype=np.float32):
    tolerance = {np.float16: 6e-3, np.float32: 1e-4, np.float64: 1e-10}[dtype]
    return compare_all(worker, *model, rtol=tolerance, atol=tolerance)


FORMS = {
    "plain": {"optional": ()},
    "all": {"optional": ("bias", "state", "lengths")},
    "backwards": {"attributes": "direction=\"reverse\"", "optional": ("bias", "lengths")},
    "both": {"attributes": "direction=\"bidirectional\"", "directions": 2, "optional": ("bias", "state", "lengths")},
    "clipped": {"attributes": "clip=0.3"},
    "one_row": {"rows": 1}, "rows": {"rows": 9}, "one_step": {"steps": 1},
    "many_units": {"hidden": 140, "optional": ("bias", "state", "lengths"), "attributes": "direction=\"bidirectional\"", "directions": 2},
}


@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("form", FORMS)
def test_forms(cuda, op_type, form):
    assert check(cuda, layer(op_type, **FORMS[form])) == [op_type]


@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_types(cuda_blas, op_type, dtype):
    assert check(cuda_blas, layer(op_type, dtype=dtype), dtype) == [op_type]


@pytest.mark.parametrize("hidden", [12, 140])
@pytest.mark.parametrize("form", ["all", "both", "clipped"])
def test_linear_before_reset(cuda, hidden, form):
    given = dict(FORMS[form])
    given["attributes"] = ", ".join(filter(None, [given.get("attributes"), "linear_before_reset=1"]))
    check(cuda, layer("GRU", hidden=hidden, **given))


@pytest.mark.parametrize("form", ["all", "both"])
def test_peepholes(cuda, form):
    given = FORMS[form]
    check(cuda, layer("LSTM", **{**given, "optional": (*given["optional"], "peepholes")}))


def test_coupled_gates(cuda):
    check(cuda, layer("LSTM", "input_forget=1"))


@pytest.mark.parametrize("op_type", GATES)
def test_rows_first(cuda, op_type):
    check(cuda, layer(op_type, "direction=\"bidirectional\"", directions=2, batch_first=True))


FUNCTIONS = [["Relu", "Affine", "LeakyRelu"], ["HardSigmoid", "Softsign", "ScaledTanh"], ["Sigmoid", "Elu", "Softplus"], ["HardSigmoid", "ThresholdedRelu", "Tanh"]]


@pytest.mark.parametrize("functions", FUNCTIONS)
@pytest.mark.parametrize("numbers", ["", ", activation_alpha=[0.3, 0.4, 0.6], activation_beta=[0.2, 0.7]"])
def test_functions(cuda, functions, numbers):
    names = ", ".join(f'"{name}"' for name in [*functions, "sigmoid", "tanh", "relu"])
    check(cuda, layer("LSTM", f"direction=\"bidirectional\", activations=[{names}]{numbers}", directions=2))


def test_functions_that_are_not_there(cuda):
    with pytest.raises(RuntimeError, match='there is no activation "wave"'):
        cuda.run(*layer("RNN", "activations=[\"wave\"]"))
