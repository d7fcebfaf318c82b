# SPDX-License-Identifier: Apache-2.0
"""Inputs that have a default in the model: constants, until a run gives another value."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import gantry


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


WEIGHTS = {"w": random(16, 3, 3, 3, seed=1), "b": random(16, seed=2), "v": random(8, 16, 1, 1, seed=3)}
X = random(1, 3, 12, 12, seed=4)


def network(ir_version=8):
    """Two convolutions whose weights are inputs too."""
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], name="first", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"], name="relu"),
             helper.make_node("Conv", ["r", "v"], ["y"], name="second")]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in {"w": WEIGHTS["w"], "x": X, "b": WEIGHTS["b"], "v": WEIGHTS["v"]}.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 8, 12, 12))]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(array, name) for name, array in WEIGHTS.items()])
    return helper.make_model(graph, ir_version=ir_version, opset_imports=[helper.make_opsetid("", 17)])


def expected(x=X, **replaced):
    weights = {**WEIGHTS, **replaced}
    padded = np.pad(x[0], ((0, 0), (1, 1), (1, 1))).astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    hidden = np.einsum("chwij,ocij->ohw", windows, weights["w"]) + weights["b"][:, None, None]
    return np.einsum("chw,oc->ohw", np.maximum(hidden, 0), weights["v"][:, :, 0, 0])[None]


def check(session, x=X, **replaced):
    np.testing.assert_allclose(session.run({"x": x, **replaced})["y"], expected(x, **replaced), rtol=1e-4, atol=1e-4)


def notices(text):
    return text.count("was planned once more")


@pytest.fixture
def info():
    before = gantry.log_level()
    gantry.set_log_level("info")
    yield
    gantry.set_log_level(before)


def test_defaults_are_constants_until_a_run_gives_another_value(capfd, info):
    session = gantry.Session(network())
    assert [(value.name, value.required) for value in session.inputs] == [("w", False), ("x", True), ("b", False), ("v", False)]
    if any(row.provider == "x86" for row in session.placement.nodes):  # which takes constant weights only
        assert {row.provider for row in session.placement.nodes} == {"x86"}
    check(session)
    assert notices(capfd.readouterr().err) == 0
    check(session, b=WEIGHTS["b"] + 1)
    assert notices(capfd.readouterr().err) == 1
    check(session)
    check(session, b=WEIGHTS["b"] + 2)
    check(session, random(1, 3, 12, 12, seed=7))
    assert notices(capfd.readouterr().err) == 0


def test_a_value_that_is_equal_to_the_default_needs_no_other_plan(capfd, info):
    session = gantry.Session(network())
    check(session, **{name: array.copy() for name, array in WEIGHTS.items()})
    assert notices(capfd.readouterr().err) == 0
    changed = WEIGHTS["v"].copy()
    changed[-1, -1] += 1  # the last element is looked at too
    check(session, w=WEIGHTS["w"].copy(), v=changed)
    assert notices(capfd.readouterr().err) == 1


def test_what_is_replaced_later_is_opened_too(capfd, info):
    session = gantry.Session(network())
    check(session, b=WEIGHTS["b"] * 2)
    check(session, v=WEIGHTS["v"] * 2)
    check(session, v=WEIGHTS["v"] * 3, b=WEIGHTS["b"] * 3)
    assert notices(capfd.readouterr().err) == 2
    check(session, w=WEIGHTS["w"] * 2)
    check(session, w=WEIGHTS["w"] * 2, v=WEIGHTS["v"] * 3)
    check(session, b=WEIGHTS["b"] * 2)
    check(session)
    assert notices(capfd.readouterr().err) == 1


def test_after_three_plans_everything_is_open(capfd, info):
    names = [f"d{i}" for i in range(8)]
    nodes = [helper.make_node("Sum", ["x", *names], ["y"])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2,)) for name in ["x", *names]]
    tensors = [numpy_helper.from_array(np.float32([i, i]), name) for i, name in enumerate(names)]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2,))], tensors)
    session = gantry.Session(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]))
    for i, name in enumerate(names):
        found = session.run({"x": np.float32([100, 200]), name: np.float32([0.5, 0.25])})["y"]
        assert found.tolist() == [128 - i + 0.5, 228 - i + 0.25]
    assert notices(capfd.readouterr().err) == 4


@pytest.mark.parametrize("threads", [2, 8])
def test_runs_with_and_without_at_once(threads):
    session = gantry.Session(network())
    failures = []

    def work(number):
        try:
            for turn in range(20):
                if (number + turn) % 3 == 0:
                    check(session)
                else:
                    check(session, **{["b", "v", "w"][(number + turn // 7) % 3]: random(*WEIGHTS[["b", "v", "w"][(number + turn // 7) % 3]].shape, seed=number + turn)})
        except BaseException as error:  # noqa: BLE001: shown by the test
            failures.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures, failures[0]


def reshape_model(outputs=("a", "b")):
    """y = Reshape(x, shape): what the outputs' extents are depends on a default."""
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "shape"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, (6,)), helper.make_tensor_value_info("shape", TensorProto.INT64, (2,))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, outputs)], [numpy_helper.from_array(np.int64([2, 3]), "shape")])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize("outputs", [("a", "b"), (None, None), None])
def test_outputs_are_declared_for_every_value_of_a_default(outputs):
    session = gantry.Session(reshape_model(outputs))
    (y,) = session.outputs
    assert not y.shape or not any(isinstance(extent, int) and extent >= 0 for extent in y.shape)
    x = np.arange(6, dtype=np.float32)
    assert session.run({"x": x})["y"].shape == (2, 3)
    assert session.run({"x": x, "shape": np.int64([3, 2])})["y"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert session.run({"x": x})["y"].shape == (2, 3)


def test_a_default_that_bodies_read():
    then = helper.make_graph([helper.make_node("Mul", ["x", "scale"], ["t"])], "then", [], [helper.make_tensor_value_info("t", TensorProto.FLOAT, (2,))])
    other = helper.make_graph([helper.make_node("Add", ["x", "scale"], ["e"])], "else", [], [helper.make_tensor_value_info("e", TensorProto.FLOAT, (2,))])
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,)), helper.make_tensor_value_info("scale", TensorProto.FLOAT, ()),
              helper.make_tensor_value_info("flag", TensorProto.BOOL, ())]
    graph = helper.make_graph([helper.make_node("If", ["flag"], ["y"], then_branch=then, else_branch=other)], "g", inputs,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2,))], [numpy_helper.from_array(np.float32(10), "scale")])
    session = gantry.Session(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]))
    x = np.float32([1, 2])
    for scale in (None, 3, None, 5):
        given = {} if scale is None else {"scale": np.float32(scale)}
        factor = 10 if scale is None else scale
        assert session.run({"x": x, "flag": np.array(True), **given})["y"].tolist() == [factor, 2 * factor]
        assert session.run({"x": x, "flag": np.array(False), **given})["y"].tolist() == [1 + factor, 2 + factor]


def test_bindings_choose_by_what_is_bound_at_each_run():
    session = gantry.Session(network())
    binding = gantry.Binding(session)
    binding.input("x", X)
    bias = WEIGHTS["b"].copy()
    binding.input("b", bias)
    for scale in (1, 2, 1, -1):
        bias[:] = WEIGHTS["b"] * scale
        binding.run()
        np.testing.assert_allclose(np.asarray(binding.result("y")), expected(b=WEIGHTS["b"] * np.float32(scale)), rtol=1e-4, atol=1e-4)


def test_profiles_and_traces_have_the_runs_of_both_plans(tmp_path):
    trace = tmp_path / "trace.json"
    session = gantry.Session(network(), profile=True, config={"session": {"profile": str(trace)}})
    check(session)
    check(session, v=WEIGHTS["v"] * 2)
    check(session, w=WEIGHTS["w"] * 2)
    assert sum(row.runs for row in session.profile() if row.node.startswith("second")) == 3
    session.reset_profile()
    assert sum(row.runs for row in session.profile()) == 0
    del session
    steps = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("args", {}).get("op_type") == "Conv" and "second" in event["name"]]
    assert len(steps) == 3, trace.read_text()[:2000]


def test_the_compiled_model_cache(tmp_path):
    onnx.save(network(), tmp_path / "a.onnx")
    config = {"session": {"artefact_cache": str(tmp_path / "cache")}}
    for _ in range(3):
        session = gantry.Session(tmp_path / "a.onnx", config=config)
        check(session)
        check(session, w=WEIGHTS["w"] * 2)
        check(session)
        assert [value.name for value in session.inputs] == ["w", "x", "b", "v"]
        del session


def test_the_model_file_may_be_gone(tmp_path):
    onnx.save(network(), tmp_path / "a.onnx")
    session = gantry.Session(tmp_path / "a.onnx")
    (tmp_path / "a.onnx").unlink()
    check(session, w=WEIGHTS["w"] * 2)
    check(session)


ALONE = """
import sys
sys.path.insert(0, {folder!r})
import default_inputs_test as cases
import gantry
session = gantry.Session(cases.network())
cases.check(session)
for _ in range(2):
    try:
        cases.check(session, w=cases.WEIGHTS["w"] * 2)
        print("ran")
    except gantry.UnsupportedError as error:
        print(str(error).replace("\\n", " "))
cases.check(session)
"""


def test_a_plan_that_cannot_be_made_names_what_was_replaced():
    if not any(row.name == "x86" and row.state == "ready" for row in gantry.report(open=True)):
        pytest.skip("every provider here takes weights of a run")
    code = ALONE.format(folder=os.path.dirname(__file__))
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "GANTRY_PROVIDERS_DISABLE": "cpu"}, timeout=120, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 2, done.stderr
    for line in lines:
        assert line.startswith('model in memory, planned once more since the run gives "w" another value than the model: ')
        assert "nodes cannot run on CPU" in line


ISOLATED = """
import numpy as np, sys
sys.path.insert(0, {folder!r})
import default_inputs_test as cases
import gantry
session = gantry.Session(cases.network())
cases.check(session)
cases.check(session, b=cases.WEIGHTS["b"] + 1)
cases.check(session)
cases.check(session, w=cases.WEIGHTS["w"] * 2, v=cases.WEIGHTS["v"] * 2)
print("passed")
"""


@pytest.mark.parametrize("isolation", ["all", "off"])
def test_providers_in_processes_of_their_own(isolation):
    code = ISOLATED.format(folder=os.path.dirname(__file__))
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "GANTRY_ISOLATION": isolation}, timeout=120, capture_output=True, text=True, check=False)
    assert done.stdout == "passed\n", done.stderr
