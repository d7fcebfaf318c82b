# SPDX-License-Identifier: Apache-2.0
"""examples/providers/openvino: built with the installed SDK alone, held to the rules of the boundary, and compared with ONNX Runtime on real models."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from broken_models import make_model, value
from cpu_flags import CPU_FLAGS
from command_line import facts, gantry
from compare_models import assert_close
from fill_weights import fill_weights
from installed_sdk import ROOT, build, install
from model_files import LIGHT, light_file, model_file
from onnx import TensorProto, helper, numpy_helper

OPENVINO = importlib.util.find_spec("openvino")
pytestmark = pytest.mark.skipif(OPENVINO is None, reason="the Python package openvino, which brings OpenVINO's libraries, is not installed; tools/setup does it")
GENERATOR = np.random.default_rng(11)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("openvino")
    root = pathlib.Path(OPENVINO.origin).parent
    return build(ROOT / "examples" / "providers" / "openvino", install(folder), f"-DOPENVINO_ROOT={root}", into=folder / "build") / "openvino.json"


def environment(manifest):
    return {"GANTRY_ADD_PROVIDER_FILES": str(manifest), "GANTRY_PROBE_CACHE": "off"}


def run(manifest, model, runs, folder, *, isolation=None, **options):
    """What each run makes, OPENVINO before CPU, and provider by node; `options`: of the provider."""
    folder.mkdir(exist_ok=True)
    (folder / "runtime.json").write_text(json.dumps({"providers": {"isolation": {"openvino": isolation}} if isolation else {}}), encoding="utf-8")
    config = {"placement": {"prefer": ["OPENVINO", "CPU"], "fallback": "allow"}, "providers": {"options": {"openvino": options}}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for number, feeds in enumerate(runs):
        np.savez(folder / f"{number}.npz", **feeds)
    done = subprocess.run([sys.executable, ROOT / "tests" / "support" / "run_session.py", model, folder / "config.json", folder],
                          env={**os.environ, **environment(manifest), "GANTRY_CONFIG": str(folder / "runtime.json")}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return [dict(np.load(folder / f"out_{number}.npz")) for number in range(len(runs))], json.loads(done.stdout.splitlines()[-1])


def compare(manifest, model, runs, folder, **options):
    """Requires ONNX Runtime's results; returns the number of nodes by provider."""
    ours, nodes = run(manifest, model, runs, folder, **options)
    theirs = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names = [output.name for output in theirs.get_outputs()]
    for feeds, mine in zip(runs, ours, strict=True):
        for name, expected in zip(names, theirs.run(names, feeds), strict=True):
            assert_close(mine[name], expected, name)
    providers = [node["provider"] for node in nodes]
    return {name: providers.count(name) for name in set(providers)}


def save(model, folder):
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


def test_keeps_the_rules_of_the_boundary(manifest):
    report = facts("provider", "test", manifest)
    checks = {check["name"]: check["status"] for check in report["checks"]}
    assert [name for name, status in checks.items() if status not in ("passed", "skipped")] == []
    assert report["level_reached"] == 5
    assert checks["threads.run"] == checks["faults.no-memory-for-outputs"] == checks["random.Conv/float32"] == "passed"
    assert sum(status == "passed" for status in checks.values()) > 150
    assert facts("provider", "lint", manifest)["good"]


def test_a_machine_without_openvino(manifest, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"providers": {"options": {"openvino": {"library": "/nowhere/libopenvino_c.so"}}}}), encoding="utf-8")
    (row,) = [row for row in facts("devices", "--config", config, env=environment(manifest))["devices"] if row["device"] == "OPENVINO:0"]
    assert row["state"] == "absent"
    assert "/nowhere/libopenvino_c.so" in row["reason"] and 'option "library"' in row["reason"]


def test_options_are_checked_by_the_schema(manifest, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"providers": {"options": {"openvino": {"num_thread": 1}}}}), encoding="utf-8")
    _, said = gantry("devices", "--config", config, status=3, env=environment(manifest))
    assert "/providers/options/openvino/num_thread" in said and "num_threads" in said


@pytest.mark.parametrize("name", LIGHT)
def test_light_models(manifest, name, tmp_path):
    model = fill_weights(onnx.load(light_file(name)))
    image = model.graph.input[0]
    shape = [extent.dim_value for extent in image.type.tensor_type.shape.dim]
    runs = [{image.name: GENERATOR.standard_normal(shape, np.float32)} for _ in range(2)]
    assert set(compare(manifest, save(model, tmp_path), runs, tmp_path / "runs")) == {"openvino"}


@pytest.mark.parametrize("shapes", [0, 2, 8])
def test_recognition_of_several_widths(manifest, shapes, tmp_path):
    """A shape that comes again is compiled for itself, and only the latest few are kept."""
    model = model_file("rapidocr/rapidocr/models/PP-OCRv6_rec_small.onnx")
    runs = [{"x": GENERATOR.uniform(-1, 1, (1, 3, 48, width)).astype(np.float32)} for width in (320, 96, 320, 96, 320, 33, 33, 160, 160, 320, 96, 320, 96)]
    found = compare(manifest, model, runs, tmp_path / "runs", shapes=shapes)
    assert found["openvino"] > 300


def test_magika(manifest, tmp_path):
    model = model_file("magika/magika/models/standard_v3_3/model.onnx")
    runs = [{"bytes": GENERATOR.integers(0, 257, (rows, 2048)).astype(np.int32)} for rows in (2, 1, 2, 2)]
    assert compare(manifest, model, runs, tmp_path / "runs")["openvino"] > 50


def cases_of_few_bits():
    """Operator, attributes, number of tensors it reads and constants behind them, for types of 8 and 16 bits."""
    plain = [(name, {}, 2, ()) for name in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min")] + [(name, {}, 1, ()) for name in ("Relu", "Sign", "Flatten")] + [("Where", {}, 3, ())]
    axes = [("Concat", {"axis": 1}, 2, ()), ("Gather", {"axis": 2}, 1, ([3, 0],)), ("Transpose", {"perm": [0, 2, 3, 1]}, 1, ()), ("Split", {"axis": 0}, 1, ())]
    shapes = [("Expand", {}, 1, ([2, 2, 3, 4, 5],)), ("Reshape", {}, 1, ([6, 20],)), ("Slice", {}, 1, ([1], [4], [3], [2])), ("Squeeze", {}, 1, ([0],)),
              ("Tile", {}, 1, ([1, 2, 1, 2],)), ("Unsqueeze", {}, 1, ([1],)), ("Pad", {}, 1, ([0, 0, 1, 1, 0, 0, 1, 1],))]
    pool = [("MaxPool", {"kernel_shape": [2, 2]}, 1, ())]
    few = [(*case, dtype) for case in plain + axes + shapes + pool for dtype in ("int8", "uint8", "float16") if case[0] != "Relu" or dtype != "uint8"]
    halves = [(name, {}, 2, (), "float16") for name in ("Add", "Div", "Mul", "Sub")] + [(name, {}, 1, (), "float16") for name in ("Exp", "Neg", "Sigmoid", "Sqrt", "Tanh")]
    return few + halves + [("Cast", {"to": TensorProto.FLOAT}, 1, (), dtype) for dtype in ("int8", "uint8", "float16")]


def few_bits_model(op, attributes, count, constants, dtype):
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    shape = (1, 3, 4, 5) if op == "Squeeze" else (2, 3, 4, 5)
    names = [f"x{i}" for i in range(count)]
    inputs = [value(name, TensorProto.BOOL if op == "Where" and i == 0 else element, shape) for i, name in enumerate(names)]
    made = TensorProto.BOOL if op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual") else attributes.get("to", element)
    outputs = ["y", "z"] if op == "Split" else ["y"]
    nodes = [helper.make_node(op, [*names, *(f"c{i}" for i in range(len(constants)))], outputs, **attributes)]
    weights = [numpy_helper.from_array(np.array(numbers, np.int64), f"c{i}") for i, numbers in enumerate(constants)]
    graph = helper.make_graph(nodes, "g", inputs, [onnx.helper.make_tensor_value_info(name, made, None) for name in outputs], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model), names, shape


def elements_of(dtype, shape):
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return GENERATOR.integers(info.min, info.max + 1, shape).astype(dtype)
    return (np.abs(GENERATOR.standard_normal(shape)) + 0.5).astype(dtype)


def expected_of(model, feeds):
    try:
        runner = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:  # it has not that type of that operator
        return onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    return runner.run(None, feeds)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16"])
def test_types_of_few_bits(manifest, dtype, tmp_path):
    """Elements are those of ONNX Runtime; halves, where it computes, may be off in the last place."""
    whole, feeds, expected, operators = None, {}, {}, {}
    for number, (op, attributes, count, constants, _) in enumerate(case for case in cases_of_few_bits() if case[4] == dtype):
        model, names, shape = few_bits_model(op, attributes, count, constants, dtype)
        own = {name: GENERATOR.random(shape) < 0.5 if op == "Where" and i == 0 else elements_of(dtype, shape) for i, name in enumerate(names)}
        prefix = f"n{number}_"
        for output, elements in zip(model.graph.output, expected_of(model, own), strict=True):
            expected[prefix + output.name], operators[prefix + output.name] = elements, op
        feeds.update({prefix + name: elements for name, elements in own.items()})
        model = onnx.compose.add_prefix(model, prefix)
        whole = onnx.compose.merge_models(whole, model, io_map=[]) if whole else model
    (found,), nodes = run(manifest, save(whole, tmp_path), [feeds], tmp_path / "runs")
    assert {node["op_type"] for node in nodes if node["provider"] != "openvino"} == set()
    for name, elements in expected.items():
        is_close = np.array_equal(found[name], elements) or (dtype == "float16" and np.allclose(found[name], elements, rtol=2e-3, atol=0))
        assert is_close and found[name].dtype == elements.dtype, operators[name]


def test_what_is_not_exact_is_refused(manifest, tmp_path):
    cut, wraps = "cuts doubles to 32 bits", "where ONNX's wrap around"
    for number, (op, dtype, reason) in enumerate([("Add", "int8", wraps), ("Mul", "uint8", wraps), ("Transpose", "float64", cut), ("Relu", "float64", cut),
                                                  ("Concat", "float64", cut)]):
        model, names, shape = few_bits_model(op, {"axis": 1} if op == "Concat" else {}, 2 if op in ("Add", "Mul", "Concat") else 1, (), dtype)
        feeds = {name: elements_of(dtype, shape) for name in names}
        folder = tmp_path / str(number)
        folder.mkdir()
        _, nodes = run(manifest, save(model, folder), [feeds], folder / "runs")
        assert {node["provider"] for node in nodes} == {"cpu"} and all(reason in node["reason"] for node in nodes), (op, nodes)


def test_what_is_refused_would_not_be_exact():
    """OpenVINO itself, without gantry: if this fails, it has learned to compute doubles or 8-bit sums as ONNX says, and the claims may be widened."""
    core = __import__("openvino").Core()
    tiny = np.array([1 / 3, 1 + 1e-12])
    for op, dtype, elements in (("Add", "int8", np.int8([100, -100])), ("Mul", "uint8", np.uint8([20, 200])), ("Relu", "float64", tiny), ("Add", "float64", tiny)):
        model, names, _ = few_bits_model(op, {}, 1 if op == "Relu" else 2, (), dtype)
        for value_info in [*model.graph.input, *model.graph.output]:
            del value_info.type.tensor_type.shape.dim[:]
            value_info.type.tensor_type.shape.dim.add().dim_value = 2
        feeds = dict.fromkeys(names, elements)
        found = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY"})(feeds)[0]
        with np.errstate(over="ignore"):
            exact = {"Add": elements + elements, "Mul": elements * elements, "Relu": elements}[op]
        assert found.dtype == exact.dtype and not np.array_equal(found, exact), (op, dtype, found)


def test_silero(manifest, tmp_path):
    """Mixed: the core schedules the Ifs, the CPU provider has what OpenVINO refuses, and bodies are fragments of their own."""
    model = model_file("silero-vad/silero_vad/data/silero_vad.onnx")
    # Draws of its own: after some others the probability is so small that 1e-4 of it is beyond what f32 makes of its logit.
    generator = np.random.default_rng(0)
    runs = [{"input": generator.standard_normal((1, size), np.float32), "state": generator.uniform(-1, 1, (2, 1, 128)).astype(np.float32),
             "sr": np.array(rate, np.int64)} for size, rate in ((576, 16000), (288, 8000), (576, 16000), (576, 16000), (288, 8000))]
    found = compare(manifest, model, runs, tmp_path / "runs")
    assert found["openvino"] > 50 and found["cpu"] > 5 and found["core"] > 5


def test_in_a_process_of_its_own(manifest, tmp_path):
    """The worker is a host of its own, which gives the fragment there."""
    model = model_file("rapidocr/rapidocr/models/PP-OCRv6_rec_small.onnx")
    runs = [{"x": GENERATOR.uniform(-1, 1, (1, 3, 48, width)).astype(np.float32)} for width in (320, 96, 320, 320)]
    assert compare(manifest, model, runs, tmp_path / "runs", isolation="process")["openvino"] > 300


def sums_model(folder):
    nodes = [helper.make_node("Add", ["x", "x"], ["d"], name="double"), helper.make_node("Sub", ["d", "one"], ["y"], name="less")]
    one = numpy_helper.from_array(np.array([1], np.int64), "one")
    return save(make_model(nodes, [value("x", TensorProto.INT64, ("n",))], [value("y", TensorProto.INT64, ("n",))], [one]), folder)


def test_large_integers_stay_exact(manifest, tmp_path):
    model = sums_model(tmp_path)
    runs = [{"x": np.array([2 ** 40, 3], np.int64)}]
    (exact,), nodes = run(manifest, model, runs, tmp_path / "exact")
    assert exact["y"].tolist() == [2 ** 41 - 1, 5]
    assert {node["provider"] for node in nodes} == {"cpu"}
    assert all('the option "int64"' in node["reason"] for node in nodes if node["node"] == "double")
    (narrow,), nodes = run(manifest, model, [{"x": np.array([7, 3], np.int64)}], tmp_path / "narrow", int64="narrow")
    assert narrow["y"].tolist() == [13, 5]
    assert {node["provider"] for node in nodes} == {"openvino"}


@pytest.mark.skipif("avx512_bf16" not in CPU_FLAGS, reason="this processor multiplies no bfloat16")
def test_precision_is_what_was_asked_for(manifest, tmp_path):
    """bf16 rounds to 8 bits: not far from f32, and not the same."""
    model = save(fill_weights(onnx.load(light_file("squeezenet"))), tmp_path)
    runs = [{onnx.load(model).graph.input[0].name: GENERATOR.standard_normal((1, 3, 224, 224), np.float32)}]
    (exact,), _ = run(manifest, model, runs, tmp_path / "f32")
    (rounded,), _ = run(manifest, model, runs, tmp_path / "bf16", precision="bf16")
    (name,) = exact
    assert 0 < np.abs(rounded[name] - exact[name]).max() < 0.1 * np.abs(exact[name]).max()
    assert not np.allclose(rounded[name], exact[name], rtol=1e-4, atol=0)


def test_compiled_models_are_kept_in_the_cache_folder(manifest, tmp_path):
    model = fill_weights(onnx.load(light_file("squeezenet")))
    image = model.graph.input[0]
    runs = [{image.name: GENERATOR.standard_normal((1, 3, 224, 224), np.float32)}]
    file = save(model, tmp_path)
    for _ in range(2):
        compare(manifest, file, runs, tmp_path / "runs", cache_dir=str(tmp_path / "cache"), num_threads=1)
    assert list((tmp_path / "cache").glob("*.blob"))
