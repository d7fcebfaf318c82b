# SPDX-License-Identifier: Apache-2.0
"""Plugin execution providers that are made for ONNX Runtime, run by the provider `ort_ep`. The one at hand is gantry's own, which is thus in gantry twice: what it says of a graph is what
the outer one told it, and its results are gantry's."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

import command_line
import gantry
import gantry.onnxruntime_ep
import numpy as np
import onnx
import pytest
from branching_model import X, network
from onnx import TensorProto, helper, numpy_helper

from random_models.compare import Expected
from random_models.generate import generate
from small_graph import small_graph

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = gantry.onnxruntime_ep.get_library_path()
EP = gantry.onnxruntime_ep.get_ep_name()


def config_of(libraries=(LIBRARY,), ep_options=None, isolation="none"):
    options = {"libraries": [str(library) for library in libraries], **({"ep_options": {EP: ep_options}} if ep_options else {})}
    return {"providers": {"options": {"ort_ep": options}, "isolation": {"ort_ep": isolation}}, "placement": {"fallback": "allow"}}


SCRIPT = """
import json, sys
import gantry, numpy, onnx
config, files = json.loads(sys.argv[1]), sys.argv[2:]
for file in files:
    feeds = dict(numpy.load(file + ".npz"))
    try:
        session = gantry.Session(file + ".onnx", device="ORT:0", config=config)
        results = session.run(feeds)
    except gantry.Error as error:
        print(type(error).__name__, error)
        continue
    numpy.savez(file + ".results.npz", **results)
    print(json.dumps([[node.op_type, node.device, node.kernel] for node in session.placement.nodes]))
"""


def run(folder, models, config=None):
    """Each model and what to feed it, in a process whose runtime has the library: the lines that it prints, and the results."""
    files = []
    for number, (model, feeds) in enumerate(models):
        files.append(str(folder / str(number)))
        onnx.save(model, files[-1] + ".onnx")
        np.savez(files[-1] + ".npz", **feeds)
    done = subprocess.run([sys.executable, "-c", SCRIPT, json.dumps(config or config_of()), *files], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(models)
    results = [dict(np.load(file + ".results.npz", allow_pickle=True)) if pathlib.Path(file + ".results.npz").exists() else None for file in files]
    return lines, results


def expect_same(found, model, feeds):
    expected = gantry.Session(model.SerializeToString(), device="CPU").run(feeds)
    assert found is not None
    assert list(found) == list(expected)
    for name, want in expected.items():
        assert (found[name].dtype, found[name].shape) == (want.dtype, want.shape)
        np.testing.assert_array_equal(found[name], want)


def test_random_models(tmp_path):
    models, expected = [], []
    for number in range(3, 240, 6):
        model, feeds, _ = generate(number)
        try:
            expected.append(Expected(model, feeds))
        except Exception:  # the oracle has not the operator in that version
            continue
        models.append((model, feeds))
    assert len(models) >= 30
    lines, results = run(tmp_path, models)
    for one, found in zip(expected, results, strict=True):
        one.check(found)
    assert sum({"ORT:0"} == {device for _, device, _ in json.loads(line)} for line in lines) > 0.9 * len(models)


def test_attributes_bodies_and_what_they_capture(tmp_path):
    """Of all types that ONNX Runtime hands out; a constant of the graph in a body, and one of the body's own."""
    own = numpy_helper.from_array(np.array([2], np.float32), "own")
    body = helper.make_graph([helper.make_node("Mul", ["state", "own"], ["a"]), helper.make_node("Add", ["a", "outer"], ["b"]), helper.make_node("Mul", ["b", "w"], ["next"])],
                             "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                                      helper.make_tensor_value_info("state", TensorProto.FLOAT, [4])],
                             [helper.make_tensor_value_info("go", TensorProto.BOOL, []), helper.make_tensor_value_info("next", TensorProto.FLOAT, [4])], [own])
    nodes = [helper.make_node("LeakyRelu", ["x"], ["l"], alpha=0.25), helper.make_node("Transpose", ["m"], ["t"], perm=[1, 0]),
             helper.make_node("Upsample", ["u", "s"], ["v"], mode="nearest"), helper.make_node("ConstantOfShape", ["n1"], ["c"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [3])),
             helper.make_node("Neg", ["l"], ["outer"]), helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)]
    inputs = {"x": np.array([1, -2, 3, -4], np.float32), "m": np.ones((2, 3), np.float32), "u": np.ones((1, 1, 2, 2), np.float32), "n1": np.array([2, 3]), "n": np.array(3)}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in inputs.items()],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("t", "v", "c", "y")],
                              [numpy_helper.from_array(np.array([1, 0.5, 2, 1], np.float32), "w"), numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "s")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=8)
    strings, feeds = small_graph("y = StringNormalizer<case_change_action = \"UPPER\", stopwords = [\"no\", \"nor\"]>(x)", {"x": np.array(["yes", "no", "or", "nor"])})
    strings.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    lines, results = run(tmp_path, [(model, inputs), (network(), {"x": X, "flag": np.array(True)}), (strings, feeds)])
    expect_same(results[0], model, inputs)
    expect_same(results[1], network(), {"x": X, "flag": np.array(True)})
    assert results[2]["y"].tolist() == ["YES", "OR"]
    assert {device for line in lines for _, device, _ in json.loads(line)} == {"ORT:0"}


def refused():
    """A model of which the provider takes all but one node."""
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("SequenceConstruct", ["a", "a"], ["s"]), helper.make_node("Neg", ["a"], ["y"])]
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [3]))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3]), helper.make_value_info("s", kind)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_what_is_refused_runs_elsewhere():
    config = json.dumps(config_of(isolation="process"))
    session = gantry.Session(refused().SerializeToString(), device="ORT:0", config=config)
    nodes = {node.op_type: node for node in session.placement.nodes}
    assert {op: node.device for op, node in nodes.items()} == {"Relu": "ORT:0", "Neg": "ORT:0", "SequenceConstruct": "CPU:0"}
    assert f"{EP} does not take it" in nodes["SequenceConstruct"].reason
    results = session.run({"x": np.array([1, -2, 3], np.float32)})
    np.testing.assert_array_equal(results["y"], [-1, 0, -3])


def test_a_process_of_its_own():
    model, feeds = small_graph("a = MatMul(x, w)\n y = Tanh(a)", {"x": (np.ones((3, 4), np.float32), ["n", 4])}, {"w": np.ones((4, 2), np.float32)})
    session = gantry.Session(model.SerializeToString(), device="ORT:0", config=config_of(isolation="process"))
    expect_same(session.run(feeds), model, feeds)
    assert {node.device for node in session.placement.nodes} == {"ORT:0"}


def test_options_of_the_provider(tmp_path):
    model, feeds = small_graph("y = Neg(x)", {"x": np.ones(3, np.float32)})
    lines, _ = run(tmp_path, [(model, feeds)], config_of(ep_options={"device": "CPU:0"}))
    assert json.loads(lines[0]) == [["Neg", "ORT:0", EP]]
    config = config_of(ep_options={"devise": "CPU:0"})
    config["placement"]["fallback"] = "error"
    (line,), _ = run(tmp_path, [(model, feeds)], config)
    assert line.startswith("UnsupportedError ")
    assert f'{EP}: {EP}: there is no option "devise"; its options are "device"' in line


def test_libraries_that_are_none(tmp_path):
    (tmp_path / "text.so").write_text("no library")
    config = tmp_path / "gantry.json"
    other = command_line.BINARY.parents[1] / "lib" / "libgantry.so.0.1"
    config.write_text(json.dumps(config_of([tmp_path / "missing.so", tmp_path / "text.so", other, LIBRARY])))
    said, _ = command_line.gantry("devices", "--config", config)
    assert f"{tmp_path}/missing.so: cannot open shared object file" in said
    assert f"{tmp_path}/text.so: file too short" in said or f"{tmp_path}/text.so: invalid ELF header" in said
    assert "expected a plugin execution provider made for ONNX Runtime, which exports CreateEpFactories; this library does not" in said
    assert re.search(rf"ORT:3 +ready +ort_ep +{EP} on CPU", said)


FIRST = """
import gantry, sys
for config in (None, {"providers": {"options": {"ort_ep": {"libraries": [sys.argv[2]]}}}}, None):
    try:
        print({node.device for node in gantry.Session(sys.argv[1], device="ORT:0", config=config).placement.nodes})
    except gantry.Error as error:
        print(error)
print(sorted({device.type for device in gantry.devices()}))
"""


def test_the_first_session_that_names_libraries_opens_them(tmp_path):
    onnx.save(small_graph("y = Neg(x)", {"x": np.ones(3, np.float32)})[0], tmp_path / "model.onnx")
    done = subprocess.run([sys.executable, "-c", FIRST, tmp_path / "model.onnx", LIBRARY], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    none, some, later, types = done.stdout.splitlines()
    assert none == 'device "ORT:0" cannot be used; provider "ort_ep" is not open. It is opened where options are given to it, in /providers/options/ort_ep.'
    assert some == "{'ORT:0'}"
    assert later == 'device "ORT:0": its providers run what follows from their options, and are given none'
    assert types == "['CPU', 'CUDA', 'ORT', 'SIM']"


def test_without_libraries_there_are_no_devices():
    assert not any(device.type == "ORT" for device in gantry.devices())


def test_the_page(tmp_path):
    """Its configurations and commands, with the library that is at hand in the vendor's place."""
    text = (ROOT / "docs" / "onnxruntime-plugins.md").read_text(encoding="utf-8")
    (config,) = re.findall(r"^```json\n(.*?)^```", text, re.M | re.S)
    config = config.replace("/opt/ep/libonnxruntime_providers_openvino_plugin.so", LIBRARY).replace("OpenVINOExecutionProvider", EP)
    (tmp_path / "plugins.json").write_text(config.replace('"num_of_threads": "2"', '"device": "CPU"'))
    commands = re.findall(r"^\$ gantry (.*)", text, re.M)
    assert [command.split()[0] for command in commands] == ["devices", "run"]
    model = ROOT / "build" / "models" / "onnx" / "light" / "light_squeezenet.onnx"
    places = {"model.onnx": model, "plugins.json": tmp_path / "plugins.json"}
    said = [command_line.gantry(*(places.get(word, word) for word in command.split()))[0] for command in commands]
    assert f"ORT:0   ready   ort_ep    {EP} on CPU" in said[0]
    assert "softmaxout_1: float32[1,1000,1,1]" in said[1]
    examples = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(examples) == 2
    shutil.copy(model, tmp_path / "model.onnx")
    for example, placement in zip(examples, ("session.placement", "session.gantry_session.placement"), strict=True):
        script = example.replace("/opt/ep/libvendor_ep.so", LIBRARY) + f"print({{node.device for node in {placement}.nodes}})"
        done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        assert done.stdout == "{'ORT:0'}\n"
