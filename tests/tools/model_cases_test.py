# SPDX-License-Identifier: Apache-2.0
"""Pieces of models: model_cases of the SDK cuts them, and `gantry provider test --models` holds the sets that a provider claims of them to what their nodes compute."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from command_line import BINARY, NO, facts
from fill_weights import fill_weights
from model_files import light_file, model_file
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GANTRY_BINARY", ROOT / "build" / "release" / "bin" / "gantry")).parents[1]
PROVIDERS = BUILD / "lib" / "gantry" / "providers.d"
DUTIES = BUILD / "tests" / "fakes" / "duties.json"


def cut(folder, *arguments, status=0):
    done = subprocess.run([sys.executable, ROOT / "plugin_sdk" / "tools" / "model_cases", folder, "--gantry", BINARY, *map(str, arguments)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def checks_of(manifest, folder, *arguments, status=0):
    report = facts("provider", "test", manifest, "--models", folder, "--only", "model*", *arguments, status=status)
    return {check["name"]: check for check in report["checks"]}


def number_of(checks, status):
    return sum(check["status"] == status for check in checks.values())


@pytest.fixture(scope="module")
def squeezenet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("squeezenet")
    onnx.save(fill_weights(onnx.load(light_file("squeezenet"))), folder / "squeezenet.onnx")
    said = cut(folder / "pieces", folder / "squeezenet.onnx", "--nodes", "6", "--most", "12")
    assert "squeezenet: " in said and "66 nodes" in said
    return folder / "pieces"


@pytest.mark.parametrize(("name", "least"), [("x86", 8), ("cpu", 8), ("sim", 4)])
def test_the_bundled_providers_compute_pieces_of_a_model(squeezenet, name, least):
    checks = checks_of(PROVIDERS / f"{name}.json", squeezenet)
    assert {check["name"]: check["message"] for check in checks.values() if check["status"] not in ("passed", "skipped")} == {}
    assert number_of(checks, "passed") >= least


def test_pieces_of_a_text_model_with_integers_and_open_extents(tmp_path):
    said = cut(tmp_path / "pieces", model_file("magika/magika/models/standard_v3_3/model.onnx"), "--dim", "unk__214=2", "--most", "10")
    assert " cases in " in said
    checks = checks_of(PROVIDERS / "x86.json", tmp_path / "pieces")
    assert number_of(checks, "passed") >= 4 and number_of(checks, "passed") + number_of(checks, "skipped") == len(checks)


def relus(folder, count=5):
    """Of every second node the result is read twice, so that a piece has outputs from its middle."""
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
    nodes.append(helper.make_node("Add", [f"v{count}", "v2"], ["y"]))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in ("v0", "y")]
    model = helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "relus.onnx")
    return folder / "relus.onnx"


def test_a_set_that_computes_something_else_is_found(tmp_path):
    cut(tmp_path / "pieces", relus(tmp_path), "--nodes", "4", "--dim", "n=5")
    assert {check["status"] for check in checks_of(DUTIES, tmp_path / "pieces").values()} == {"passed"}
    broken = checks_of(DUTIES, tmp_path / "pieces", "--options", '{"breaks": "set"}', status=NO)
    failed = [check for check in broken.values() if check["status"] == "failed"]
    assert failed and all("elements differ" in check["message"] and "compute together" in check["remedy"] for check in failed)


def test_a_piece_is_what_the_model_has_there(tmp_path):
    """Inputs are what the nodes before it made, constants come along, alike pieces are written once."""
    weight = numpy_helper.from_array(np.float32([2, 4, 8]), "w")
    nodes = [helper.make_node("Mul", ["x", "w"], ["a"]), helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.float32([1]))),
             helper.make_node("Add", ["a", "c"], ["b"]), helper.make_node("Neg", ["b"], ["d"]), helper.make_node("Neg", ["d"], ["e"]), helper.make_node("Neg", ["e"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("x", "y")]
    model = helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:], [weight]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.float32([1, 2, 3]))
    said = cut(tmp_path / "pieces", tmp_path / "model.onnx", "--nodes", "1", "--input", f"x={tmp_path / 'x.npy'}")
    assert "3 of 3 unlike pieces, 5 nodes" in said
    folders = sorted(folder.name for folder in (tmp_path / "pieces").iterdir())
    assert folders == ["model.0-0", "model.1-1", "model.2-2"]
    add = onnx.load(tmp_path / "pieces" / "model.1-1" / "model.onnx")
    assert [node.op_type for node in add.graph.node] == ["Constant", "Add"] and [value.name for value in add.graph.input] == ["a"]
    read = {kind: numpy_helper.to_array(onnx.load_tensor(tmp_path / "pieces" / "model.1-1" / "test_data_set_0" / f"{kind}_0.pb")) for kind in ("input", "output")}
    assert read["input"].tolist() == [2, 8, 24] and read["output"].tolist() == [3, 9, 25]
    assert onnx.load(tmp_path / "pieces" / "model.0-0" / "model.onnx").graph.initializer[0].name == "w"


def test_a_model_that_does_not_run_is_told(tmp_path):
    said = cut(tmp_path / "pieces", relus(tmp_path), "--dim", "n", status=2)
    assert "expected NAME=VALUE" in said
    assert "model_cases: --dim m: expected one of n, v0.0" in cut(tmp_path / "pieces", tmp_path / "relus.onnx", "--dim", "m=3", status=1)
    assert "nowhere.onnx: expected an ONNX model" in cut(tmp_path / "pieces", tmp_path / "nowhere.onnx", status=1)
    assert "the command /nowhere/gantry, which runs the models, cannot be started" in cut(tmp_path / "pieces", tmp_path / "relus.onnx", "--gantry", "/nowhere/gantry", status=1)
    model = onnx.load(tmp_path / "relus.onnx")
    model.graph.node[0].op_type = "Rleu"
    onnx.save(model, tmp_path / "wrong.onnx")
    assert "wrong: gantry:" in cut(tmp_path / "pieces", tmp_path / "wrong.onnx", status=1)
    assert json.dumps(checks_of(DUTIES, tmp_path / "pieces", status=NO)["models"]).count("expected folders with a model.onnx") == 1
