# SPDX-License-Identifier: Apache-2.0
"""tools/zoo without its exporters: what it says of a model that agrees, differs, is refused, crashes or hangs."""

import importlib.machinery
import importlib.util
import json
import pathlib
import pickle
import sys

import numpy as np
import onnx
import pytest
from small_graph import small_graph

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from zoo_makers import compare_one, made  # noqa: E402: the folder of the tools is no package


@pytest.fixture(name="zoo")
def load_zoo(monkeypatch, tmp_path):
    loader = importlib.machinery.SourceFileLoader("zoo", str(ROOT / "tools" / "zoo"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("zoo", loader))
    loader.exec_module(tool)
    monkeypatch.setattr(tool, "ZOO", tmp_path)
    monkeypatch.setattr(tool.environment, "PYTHON", sys.executable)
    monkeypatch.setattr(tool.environment, "set_up", lambda: None)
    return tool


def save(folder, name, text="y = Relu(x)", expected=None):
    model, feeds = small_graph(text, {"x": np.array([-1, 2, 3], np.float32)})
    made.Made(model, feeds, expected).save(folder / "models" / "scikit" / f"{name}.onnx")
    return folder / "models" / "scikit" / f"{name}.onnx"


def run(zoo, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["zoo", *arguments])
    return zoo.run()


def test_models_that_agree_are_counted(zoo, tmp_path, monkeypatch, capsys):
    for name in ("one", "two"):
        save(tmp_path, name)
    save(tmp_path, "unknown", "y = com.example.Mystery(x)")  # nobody runs it, so it does not count
    assert run(zoo, monkeypatch, "--made", "--kinds", "scikit") == 0
    assert capsys.readouterr().out.splitlines() == ["agrees: 2, no oracle: 1", "2 of 2 agree"]
    assert run(zoo, monkeypatch, "--made", "--kinds", "scikit", "--only", "one") == 0
    assert capsys.readouterr().out.endswith("1 of 1 agree\n")
    assert run(zoo, monkeypatch, "--made", "--kinds", "scikit", "--only", "none") == 1  # nothing was held to anything


def test_what_is_not_the_same_is_a_line(zoo, tmp_path, monkeypatch, capsys):
    save(tmp_path, "one")
    monkeypatch.setattr(zoo, "compare", lambda model: {"verdict": "refused", "why": "no kernel"})
    assert run(zoo, monkeypatch, "--made", "--kinds", "scikit") == 1
    assert capsys.readouterr().out.splitlines() == ["scikit/one: refused: no kernel", "refused: 1", "0 of 1 agree"]


def verdict_of(file, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["compare_one.py", str(file)])
    assert compare_one.main() == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])["verdict"]


def test_the_framework_stands_in_for_a_peer_that_refuses(tmp_path, monkeypatch, capsys):
    """What both refuse counts against nobody."""
    file = save(tmp_path, "refused", "y = com.example.Mystery(x)", [np.float32([0, 2, 3])])
    assert verdict_of(file, monkeypatch, capsys) == "no oracle"
    monkeypatch.setattr(compare_one, "own", lambda model, feeds: [np.float32([0, 2, 3])])
    assert verdict_of(file, monkeypatch, capsys) == "agrees"
    monkeypatch.setattr(compare_one, "own", lambda model, feeds: [np.float32([0, 2, 4])])
    assert verdict_of(file, monkeypatch, capsys) == "differs"


def test_what_gantry_alone_refuses(tmp_path, monkeypatch, capsys):
    file = save(tmp_path, "refused", "y = com.example.Mystery(x)")
    monkeypatch.setattr(compare_one, "peer", lambda model, feeds: [feeds["x"]])
    assert verdict_of(file, monkeypatch, capsys) == "refused"


def test_a_kind_that_is_none(zoo, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(zoo, monkeypatch, "--kinds", "torch")
    assert "expected some of scikit, boosting, torch_modules, torch_models, rewritten, text_builder, found torch" in capsys.readouterr().err


@pytest.mark.parametrize("script, expected", [
    ("import json, os, sys\nprint(json.dumps({'peer': 'ran'}), flush=True)\nos.abort()", ("crashes", "status -6")),
    ("import os\nos.abort()", ("no oracle", "status -6")),
    ("import time\ntime.sleep(60)", ("hangs", "ended after 1 s")),
])
def test_what_ends_a_process_is_told(zoo, tmp_path, monkeypatch, script, expected):
    monkeypatch.setattr(zoo, "MAKERS", tmp_path)
    monkeypatch.setattr(zoo, "LIMIT_S", 1 if expected[0] == "hangs" else 60)
    (tmp_path / "compare_one.py").write_text(script)
    found = zoo.compare(tmp_path / "any.onnx")
    assert found["verdict"] == expected[0] and expected[1] in found["why"]


def test_a_difference_is_told_with_the_framework_beside_it(tmp_path, monkeypatch, capsys):
    file = save(tmp_path, "one", expected=[np.array([0, 2, 3], np.float32)])
    monkeypatch.setattr(compare_one, "own", lambda model, feeds: [np.array([0, 2, 4], np.float32)])
    monkeypatch.setattr(sys, "argv", ["compare_one.py", str(file)])
    assert compare_one.main() == 0
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert line["verdict"] == "differs"
    assert json.loads(line["why"]) == {"from ONNX Runtime": pytest.approx(1 / 3), "gantry from the framework": pytest.approx(1 / 3), "ONNX Runtime from the framework": 0}


def steps_model():
    """The sum of what was given: `past`, `x` [batch, 1] and `present` [batch, 2]."""
    text = """joined = Concat<axis = 1>(past, x)
              present = Slice(joined, from, to, axis)"""
    constants = {name: np.array([value], np.int64) for name, value in (("from", -2), ("to", 99), ("axis", 1))}
    model, _ = small_graph(text, {"past": np.zeros((2, 2), np.float32), "x": np.zeros((2, 1), np.float32)}, constants)
    return model


@pytest.mark.parametrize("is_shared", [False, True])
def test_steps_hand_on_their_caches(tmp_path, monkeypatch, capsys, is_shared):
    x = np.array([[1], [2]], np.float32)
    steps = [{"past": np.zeros((2, 2), np.float32), "x": x}, {"x": x + 2}]
    run_of_two = {"name": "two", "steps": steps, "seen": [{"present": None}, {"present": (1, [2, 1])}], "carried": {"past": "present"},
                  "is_shared": is_shared}
    refused = {**run_of_two, "name": "refused", "steps": [{"past": np.zeros((3, 2), np.float32), "x": x}] * 2}
    file = tmp_path / "steps.onnx"
    made.Made(steps_model(), [run_of_two, refused]).save(file)
    assert verdict_of(file, monkeypatch, capsys) == "agrees"
    found = compare_one.peer(str(file), [run_of_two])
    np.testing.assert_array_equal(found["two, step 0, present"], [[0, 1], [0, 2]])
    assert [row.tolist() for row in found["two, step 1, present"]] == [[1, 3], [2]]
    monkeypatch.setattr(compare_one, "own", lambda model, feeds: {**found, "two, step 1, present": [np.float32([1, 4]), np.float32([2])]})
    monkeypatch.setattr(sys, "argv", ["compare_one.py", str(file)])
    assert compare_one.main() == 0
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert line["verdict"] == "differs" and json.loads(line["why"])["the first that differs"] == "two, step 1, present"


NAN = float("nan")


@pytest.mark.parametrize("found, expected, told", [
    (np.float32([1, 2]), np.float32([1, 2]), 0), (np.float32([1, NAN]), np.float32([1, NAN]), 0), (np.float32([1, NAN]), np.float32([1, 2]), "NaN or infinity in other places"),
    (np.float32([1, 2]), np.float32([[1, 2]]), "float32[2], expected float32[1, 2]"), (np.int64([1, 2]), np.int64([1, 3]), "1 of 2 elements differ"),
    ([{0: 0.5, 1: 0.5}], [{0: 0.5, 1: 0.5}], 0), ([{0: 0.5}], [{1: 0.5}], "other keys"), ([np.float32([1])], [], "1 items, expected 0"), (np.float32([1, 2]), np.float32([1, 4]), 0.5),
    (np.array(["a", "b"], object), np.array(["a", "c"], object), "1 of 2 elements differ"),
])
def test_distances(found, expected, told):
    assert compare_one.distance(found, expected) == told


def test_what_is_made_is_what_is_read(tmp_path):
    file = save(tmp_path, "one", expected=[np.float32([0])])
    assert onnx.load(file).graph.node[0].op_type == "Relu"
    feeds, expected, bound = pickle.loads(file.with_suffix(".pkl").read_bytes())
    assert list(feeds) == ["x"] and expected[0] == 0 and bound == 0
