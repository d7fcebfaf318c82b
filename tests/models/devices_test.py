# SPDX-License-Identifier: Apache-2.0
"""Models over several devices, with the simulated accelerator: the CPU's results, and copies where memory spaces meet."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from broken_models import make_model, value
from onnx import helper, numpy_helper

import gantry

GENERATOR = np.random.default_rng(3)
MIXED = {"placement": {"prefer": ["SIM:0", "CPU"], "fallback": "allow"}}
SPLIT = {
    "placement": {
        "prefer": ["SIM:0", "CPU"],
        "fallback": "allow",
        "rules": [
            {"name": "second_product", "device": "SIM:1"},
            {"name": "second_s*", "device": "SIM:1"},
            {"op_type": "Relu", "device": "CPU"},
        ],
    }
}


def numbers(*shape):
    return GENERATOR.uniform(-1, 1, shape).astype(np.float32)


def layers_model():
    """Two layers, each a product, an addition, a Relu, and a Tanh that the accelerator does not have."""
    nodes = []
    source = "x"
    for layer in ("first", "second"):
        names = [f"{layer}_{step}" for step in ("product", "sum", "positive", "bent")]
        nodes += [
            helper.make_node("MatMul", [source, f"{layer}_w"], [names[0]], name=names[0]),
            helper.make_node("Add", [names[0], f"{layer}_b"], [names[1]], name=names[1]),
            helper.make_node("Relu", [names[1]], [names[2]], name=names[2]),
            helper.make_node("Tanh", [names[2]], [names[3]], name=names[3]),
        ]
        source = names[3]
    weights = [numpy_helper.from_array(numbers(*shape), f"{layer}_{kind}")
               for layer in ("first", "second") for kind, shape in (("w", (16, 16)), ("b", (16,)))]
    outputs = [value(name, shape=("n", 16)) for name in ("second_bent", "first_sum")]
    return make_model(nodes, [value("x", shape=("n", 16))], outputs, weights)


def product_model(size):
    """One product of two square matrices."""
    node = helper.make_node("MatMul", ["a", "b"], ["y"], name="product")
    return make_model([node], [value(name, shape=(size, size)) for name in "ab"], [value("y", shape=(size, size))], [])


def devices_of(session):
    return {node.node: node.device for node in session.placement.nodes}


@pytest.mark.parametrize(
    ("config", "devices"),
    [
        (MIXED, {"first_product": "SIM:0", "first_bent": "CPU:0", "second_product": "SIM:0", "second_bent": "CPU:0"}),
        (SPLIT, {"first_product": "SIM:0", "first_positive": "CPU:0", "second_product": "SIM:1", "second_sum": "SIM:1"}),
    ],
)
def test_same_results_as_the_cpu(config, devices):
    model = layers_model()
    mixed, cpu = gantry.Session(model, config=config), gantry.Session(model, device="CPU")
    placed = devices_of(mixed)
    assert {name: placed[name] for name in devices} == devices
    assert mixed.placement.copies == len(mixed.placement.transfers) > 0
    assert {copy.source for copy in mixed.placement.transfers} | {"CPU:0"} == set(placed.values())
    assert cpu.placement.copies == 0
    for rows in (1, 5, 1, 64, 5):  # dynamic shapes, and plans that are used again
        x = numbers(rows, 16)
        ours, expected = mixed.run({"x": x}), cpu.run({"x": x})
        for name in expected:
            np.testing.assert_allclose(ours[name], expected[name], rtol=1e-5, atol=1e-6)


def test_reasons_are_kept():
    session = gantry.Session(layers_model(), config=MIXED)
    (tanh,) = [node for node in session.placement.nodes if node.node == "first_bent"]
    assert tanh.provider == "cpu"
    assert "SIM:0" in tanh.reason
    assert "Tanh" in tanh.reason


def test_named_device_is_used_or_fails():
    with pytest.raises(gantry.UnsupportedError, match='2 of 8 nodes cannot run on SIM:1: Tanh "first_bent"'):
        gantry.Session(layers_model(), device="SIM:1")
    verdict = gantry.check(layers_model(), device="SIM:1")
    assert not verdict.compatible
    assert [node.node for node in verdict.nodes if not node.device] == ["first_bent", "second_bent"]


def test_fallback_by_policy():
    session = gantry.Session(layers_model(), device="SIM:1", config={"placement": {"fallback": "allow"}})
    assert set(devices_of(session).values()) == {"SIM:1", "CPU:0"}


def test_rules_are_kept():
    config = {"placement": {"prefer": ["CPU"], "rules": [{"op_type": "Tanh", "device": "SIM:0"}]}}
    with pytest.raises(gantry.UnsupportedError, match="a placement rule sends this node to SIM:0"):
        gantry.Session(layers_model(), config=config)


def test_many_runs_at_once():
    model = layers_model()
    mixed, cpu = gantry.Session(model, config=SPLIT), gantry.Session(model, device="CPU")
    inputs = [numbers(rows, 16) for rows in (1, 3, 8, 8, 17, 2) * 4]
    expected = [cpu.run({"x": x})["second_bent"] for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: mixed.run({"x": x})["second_bent"], inputs))
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_all_devices_are_listed():
    listed = {str(device): device for device in gantry.devices()}
    assert {"CPU:0", "SIM:0", "SIM:1"} <= listed.keys()
    assert listed["SIM:1"].provider == "sim"
    assert (listed["CPU:0"].type, listed["CPU:0"].id, listed["CPU:0"].state, listed["CPU:0"].reason) == ("CPU", 0, "ready", "")


@pytest.mark.parametrize(
    ("size", "cost_model", "device"),
    [
        (8, False, "SIM:0"),  # what was preferred
        (8, True, "CPU:0"),  # three copies and a launch for a thousand operations
        (2048, True, "SIM:0"),  # 17 billion operations
    ],
)
def test_the_cost_model_weighs_work_against_copies(size, cost_model, device):
    config = {"placement": {"prefer": ["SIM:0", "CPU"], "fallback": "allow", "cost_model": cost_model}}
    placement = gantry.check(product_model(size), config=config)
    assert [node.device for node in placement.nodes] == [device]
    assert ("estimated" in placement.nodes[0].reason) == (device == "CPU:0")
