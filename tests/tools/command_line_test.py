# SPDX-License-Identifier: Apache-2.0
"""The command line: what each command prints, how inputs are given, and what it says to mistakes."""

import json
import os
import subprocess

import numpy as np
import onnx
import pytest
from command_line import BINARY, ERROR, NO, USAGE, complaint, facts, gantry, on_terminal
from onnx import TensorProto, helper, numpy_helper
from PIL import Image


def save(path, nodes, inputs, outputs, initializers=(), metadata=None):
    """A model of opset 21; inputs and outputs are (name, type, shape)."""
    infos = [[helper.make_tensor_value_info(*info) for info in group] for group in (inputs, outputs)]
    graph = helper.make_graph(nodes, "test", *infos, initializer=list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10, producer_name="the tests")
    helper.set_model_props(model, metadata or {})
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


@pytest.fixture
def add_model(tmp_path):
    """y = x + w, x of any number of rows."""
    return save(
        tmp_path / "add.onnx",
        [helper.make_node("Add", ["x", "w"], ["y"], name="plus")],
        [("x", TensorProto.FLOAT, ["rows", 3])],
        [("y", TensorProto.FLOAT, ["rows", 3])],
        [numpy_helper.from_array(np.float32([1, 2, 3]), "w")],
        {"author": "nobody"},
    )


@pytest.fixture
def picture_model(tmp_path):
    """Returns its picture."""
    return save(
        tmp_path / "picture.onnx",
        [helper.make_node("Neg", ["x"], ["minus"]), helper.make_node("Neg", ["minus"], ["y"])],
        [("x", TensorProto.FLOAT, [1, 3, 2, "width"])],
        [("y", TensorProto.FLOAT, [1, 3, 2, "width"])],
    )


@pytest.fixture
def unknown_model(tmp_path):
    """A node that no provider knows."""
    graph = helper.make_graph(
        [helper.make_node("Frobnicate", ["x"], ["y"], name="strange", domain="example.nowhere")],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("example.nowhere", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "unknown.onnx")
    return tmp_path / "unknown.onnx"


def save_array(path, array):
    np.save(path, array)
    return path


# ---- what the commands say ----


def test_devices_lists_the_processor():
    rows = facts("devices")["devices"]
    cpu = next(row for row in rows if row["type"] == "CPU" and row["id"] == 0)
    assert cpu["device"] == "CPU:0" and cpu["provider"] == "cpu" and cpu["state"] == "ready" and cpu["reason"] == ""
    assert "CPU:0" in gantry("devices")[0]


def test_doctor_has_a_row_for_each_candidate():
    report = facts("doctor")
    assert report["healthy"] is True
    cpu = next(row for row in report["providers"] if row["name"] == "cpu")
    assert cpu["state"] == "ready" and cpu["stage"] == "ready" and cpu["code"] == "OK"
    assert cpu["library"].endswith("libgantry_cpu.so") and cpu["manifest"].endswith("cpu.json")


def test_doctor_says_no_when_a_provider_is_broken(tmp_path):
    manifest = tmp_path / "broken.json"
    manifest.write_text("{")
    env = {"GANTRY_ADD_PROVIDER_FILES": str(manifest)}
    report = facts("doctor", status=NO, env=env)
    broken = next(row for row in report["providers"] if row["manifest"] == str(manifest))
    assert report["healthy"] is False and broken["state"] == "rejected" and broken["message"]
    output, _ = gantry("doctor", status=NO, env=env)
    assert str(manifest) in output and broken["message"] in output
    assert gantry("devices", env=env)[1] == "1 provider cannot be used: broken.json; gantry doctor tells why\n"


@pytest.mark.parametrize("variable", ["GANTRY_PROVIDERS_DISABLE", "GANTRY_PROVIDERS_SELECT"])
def test_a_variable_that_names_no_provider_is_told(variable):
    names = "cpu,x87" if variable.endswith("SELECT") else "x87"
    said = gantry("devices", env={variable: names})[1]
    assert f'{variable}: no provider of the name "x87" was found' in said and 'Did you mean "x86"?' in said
    assert "cpu\" was found" not in said and "cannot be used" not in said
    assert variable not in gantry("devices", env={variable: "c*"} if variable.endswith("SELECT") else {variable: "onednn"})[1]


def test_a_device_that_is_not_there_is_told_without_providers_that_nobody_opened(add_model):
    said = complaint("run", add_model, "--random", "--dim", "rows=1", "--device", "CPU:1")
    assert "devices of that type: CPU:0" in said and "ort_custom_ops" not in said


def test_doctor_and_explain_tell_of_the_artefact_cache(tmp_path):
    weights = np.random.default_rng(0).standard_normal((64, 64), np.float32)
    model = save(
        tmp_path / "product.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [("x", TensorProto.FLOAT, [1, 64])],
        [("y", TensorProto.FLOAT, [1, 64])],
        [numpy_helper.from_array(weights, "w")],
    )
    assert facts("doctor")["artefact_cache"]["folder"] == ""
    env = {"GANTRY_ARTEFACT_CACHE": str(tmp_path / "cache")}
    made, used = (facts("explain", model, env=env)["artefact"] for _ in range(2))
    assert (made["state"], used["state"]) == ("made", "used") and made["file"] == used["file"]
    cache = facts("doctor", env=env)["artefact_cache"]
    assert [(file["file"], file["size_bytes"]) for file in cache["files"]] == [(used["file"], used["size_bytes"])]
    assert cache["folder"] == str(tmp_path / "cache") and cache["limit_bytes"] > used["size_bytes"] > weights.nbytes
    assert f"compiled-model cache {tmp_path}/cache: 1 files" in gantry("doctor", env=env)[0]
    assert f"cache     used {used['file']}" in gantry("explain", model, env=env)[0]


def test_check_says_yes_with_a_reason_per_node(add_model):
    verdict = facts("check", add_model, "--device", "CPU")
    assert verdict["compatible"] is True
    assert [(node["node"], node["op_type"], node["device"], node["provider"]) for node in verdict["nodes"]] == [
        ("plus", "Add", "CPU:0", "cpu")
    ]
    assert gantry("check", add_model)[0].startswith("compatible with device CPU: every node runs (1 node)")
    assert "plus" in gantry("check", add_model, "--nodes")[0]


@pytest.fixture(name="folded_model")
def save_folded_model(tmp_path):
    """y = Relu(x + (1 + 2)): of three nodes two are left, of which SIM runs one alone."""
    return save(
        tmp_path / "folded.onnx",
        [helper.make_node("Sub", ["one", "two"], ["three"]), helper.make_node("Add", ["x", "three"], ["sum"]), helper.make_node("Relu", ["sum"], ["y"])],
        [("x", TensorProto.FLOAT, [2, 3])],
        [("y", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(np.float32([value]), name) for name, value in [("one", 1), ("two", 2)]],
    )


def test_commands_count_the_same_nodes(folded_model):
    assert facts("inspect", folded_model)["nodes"] == 3
    for command in ("check", "explain"):
        counts = facts(command, folded_model)["counts"]
        assert (counts["nodes_in_file"], counts["nodes"]) == (3, 2)
        assert 1 <= counts["kernels"] <= 2
        assert "2 nodes, 3 in the file" in gantry(command, folded_model)[0]
    assert "nodes     3 in the file" in gantry("inspect", folded_model)[0]


def test_check_folds_as_a_session_does(folded_model, tmp_path):
    """A device that cannot run what is computed while loading is as compatible as for a session."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"providers": {"options": {"sim": {"operators": ["Add", "Relu"]}}}}))
    arguments = (folded_model, "--device", "SIM", "--config", config, "--fallback", "error")
    assert gantry("run", *arguments, "--random")[0]
    assert facts("check", *arguments)["compatible"] is True


def test_one_value_of_the_configuration_is_set(add_model, tmp_path):
    config = tmp_path / "config.json"
    config.write_text('{"session": {"threads": 1}, "placement": {"prefer": ["CPU"]}}')

    def values(*options):
        return {row["pointer"]: row["value"] for row in facts("config", "show", *options)["values"]}

    assert values("--config", config)["/session/threads"] == 1
    assert values("--config", '{"session": {"threads": 1}}')["/session/threads"] == 1
    changed = values("--config", config, "--set", "/session/threads=2", "--set", '/placement/prefer=["SIM", "CPU"]', "--set", "/placement/fallback=warn")
    assert (changed["/session/threads"], changed["/placement/prefer"], changed["/placement/fallback"]) == (2, ["SIM", "CPU"], "warn")
    assert facts("explain", add_model, "--set", '/placement/prefer=["SIM"]', "--set", "/placement/fallback=allow")["nodes"][0]["device"] == "SIM:0"
    assert "expected a pointer and a value, as /session/threads=2, found \"session.threads=2\"" in complaint("check", add_model, "--set", "session.threads=2", status=USAGE)
    assert "--set:1:23: /session/threads: expected an integer from 1 to 1024" in complaint("check", add_model, "--set", "/session/threads=many")
    assert "/session: expected an object" in complaint("check", add_model, "--set", "/session/0=1")
    with_file = complaint("check", add_model, "--config", config, "--set", "/session/thread=1")
    assert "config.json with --set" in with_file and 'Did you mean "threads"?' in with_file


def test_fallback_is_an_option(unknown_model, add_model):
    assert facts("check", add_model, "--device", "SIM:1", "--fallback", "error")["compatible"] is True
    complaint("check", add_model, "--fallback", "maybe", status=USAGE)
    assert facts("check", unknown_model, "--fallback", "allow", status=NO)["compatible"] is False


def test_loading_has_a_timeout(add_model):
    assert "loading did not end within its timeout: it was before " in complaint("run", add_model, "--random", "--dim", "rows=2", "--load-timeout", "1e-6")
    gantry("run", add_model, "--random", "--dim", "rows=2", "--load-timeout", "1000")
    complaint("run", add_model, "--random", "--load-timeout", "-1", status=USAGE)


def test_a_gpu_is_not_taken_for_a_cpu(add_model):
    assert "no provider offers devices of type GPU" in complaint("run", add_model, "--random", "--device", "GPU")
    assert 'Did you mean "CUDA:1"?' in complaint("run", add_model, "--random", "--device", "gpu:1")


def test_check_says_no_with_a_reason_per_node(unknown_model):
    verdict = facts("check", unknown_model, status=NO)
    assert verdict["compatible"] is False
    (node,) = verdict["nodes"]
    assert node["node"] == "strange" and node["device"] == "" and node["reason"]
    output, _ = gantry("check", unknown_model, status=NO)
    assert output.startswith("not compatible with device CPU: 1 of 1 nodes do not run") and "example.nowhere::Frobnicate" in output


def test_explain_shows_placement_and_memory(add_model):
    explanation = facts("explain", add_model, "--run", "--random", "--dim", "rows=4")
    assert explanation["compatible"] is True and explanation["copies"] == 0
    assert explanation["nodes"][0]["kernel"] and explanation["nodes"][0]["device"] == "CPU:0"
    assert explanation["memory"]["weights_bytes"] == explanation["model_weights_bytes"] == 12
    output, _ = gantry("explain", add_model)
    assert "1  on CPU:0 by cpu" in output and "weights   12 B in the model; 12 B are read as they are" in output


def split_by_policy(model, tmp_path):
    """Arguments that send what the accelerator refuses to the CPU."""
    (tmp_path / "config.json").write_text(json.dumps({
        "placement": {"prefer": ["SIM:0", "CPU"], "fallback": "allow"}, "providers": {"options": {"sim": {"operators": ["MatMul"]}}}}))
    return [model, "--config", tmp_path / "config.json"]


def test_explain_begins_with_what_fell_back(add_model, tmp_path):
    lines = gantry("explain", *split_by_policy(add_model, tmp_path))[0].splitlines()
    assert lines[:3] == [
        f"model     {add_model}",
        "verdict   runs on SIM:0, CPU",
        "fallback  allow; 1 of 1 nodes are not where they were preferred:",
    ]
    assert lines[3].split(maxsplit=1)[0] == "1" and 'operator Add is not in the option "operators"' in lines[3]
    assert "fallback  error; nothing had to" in gantry("explain", add_model)[0]


def test_terminals_get_colors_and_lines_that_fit(add_model, tmp_path):
    arguments = ["explain", *split_by_policy(add_model, tmp_path)]
    piped = gantry(*arguments)[0]
    assert "\x1b" not in piped and "\u2026" not in piped and max(map(len, piped.splitlines())) > 100
    shown = on_terminal(*arguments)
    assert "\x1b[32mruns\x1b[0m" in shown and "\u2026" in shown
    table = shown.splitlines()[shown.splitlines().index("") + 1 :]
    assert all(len(line) <= 80 for line in table), table
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in on_terminal(*arguments, env=env)
    wide = on_terminal(*arguments, columns=400, env={"NO_COLOR": "1"})
    assert wide == piped
    assert "\x1b[32mready\x1b[0m" in on_terminal("devices")


def test_explain_of_a_model_that_nobody_runs_is_no_error(unknown_model):
    explanation = facts("explain", unknown_model, status=NO)
    assert explanation["compatible"] is False and "memory" not in explanation


def test_inspect_tells_what_is_in_a_model(add_model):
    summary = facts("inspect", add_model)
    assert summary["opsets"] == {"": 21} or summary["opsets"] == {"ai.onnx": 21}
    assert summary["producer"].startswith("the tests") and summary["metadata"] == {"author": "nobody"}
    assert summary["inputs"] == [
        {"name": "x", "kind": "tensor", "dtype": "float32", "shape": [None, 3], "symbols": ["rows", ""], "required": True}
    ]
    assert [row["name"] for row in summary["outputs"]] == ["y"]
    assert summary["operators"] == [{"domain": "", "op_type": "Add", "since_version": 14, "count": 1}]
    assert summary["nodes"] == 1 and summary["weight_bytes"] == 12
    assert summary["weights"] == [{"name": "w", "dtype": "float32", "shape": [3], "size_bytes": 12}]
    assert "Add-14" in summary["graph"]
    output, _ = gantry("inspect", add_model, "--graph", "--weights")
    assert "x: float32[rows,3]" in output and "Add-14" in output and "float32[3]" in output


def test_bench_measures(add_model):
    result = facts("bench", add_model, "--dim", "rows=2", "--seconds", "0.05", "--warm-up", "0.01", "--nodes", "--threads", "1")
    latency = result["latency_us"]
    assert 0 < latency["min"] <= latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["max"]
    assert result["threads"] == 1 and result["runs"] >= 1 and result["load_ms"] > 0 and result["first_run_ms"] > 0
    assert result["peak_growth_bytes"] > 0 and result["memory"]["weights_bytes"] == 12
    assert [(row["node"], row["provider"]) for row in result["nodes"]] == [("plus", "cpu")] and result["nodes"][0]["runs"] > 0
    assert "latency   min" in gantry("bench", add_model, "--dim", "rows=2", "--seconds", "0.01", "--warm-up", "0")[0]


def test_bench_varies_an_extent(add_model):
    result = facts("bench", add_model, "--vary", "rows=1:7", "--runs", "700", "--warm-up", "0", "--nodes")
    assert result["runs"] == 700 and result["runs_per_sample"] == 1
    # Beyond what is kept of each shape nothing is held.
    assert result["memory"] == result["early_memory"]
    assert "takes NAME=FROM:TO" in complaint("bench", add_model, "--vary", "rows", status=USAGE)
    for wrong in ("rows=3", "rows=5:3", "rows=-1:3", "rows=1:2000", "rows=a:b"):
        assert f'found "{wrong}"' in complaint("bench", add_model, "--vary", wrong, status=USAGE)
    assert "no open extent" in complaint("bench", add_model, "--vary", "cols=1:3")


# ---- inputs and outputs ----


def test_run_reads_numpy_and_writes_numpy(add_model, tmp_path):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    result = facts("run", add_model, "--input", f"x={save_array(tmp_path / 'in.npy', x)}", "--out", tmp_path / "out")
    (output,) = result["outputs"]
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), x + np.float32([1, 2, 3]))
    assert output["file"] == str(tmp_path / "out" / "y.npy") and output["shape"] == [2, 3] and output["dtype"] == "float32"
    assert (output["min"], output["max"], output["mean"]) == (1, 8, 4.5)


def test_run_reads_protobuf(add_model, tmp_path):
    x = np.ones((1, 3), np.float32)
    (tmp_path / "in.pb").write_bytes(numpy_helper.from_array(x, "another name").SerializeToString())
    output, _ = gantry("run", add_model, "--input", f"x={tmp_path / 'in.pb'}")
    assert "y: float32[1,3]" in output and "2 3 4" in output


def test_run_returns_values_of_the_graph(add_model, tmp_path):
    x = save_array(tmp_path / "in.npy", np.ones((2, 3), np.float32))
    result = facts("run", add_model, "--input", f"x={x}", "--output", "w", "--output", "y")
    assert [(output["name"], output["shape"]) for output in result["outputs"]] == [("w", [3]), ("y", [2, 3])]
    assert 'output "z": the model\'s graph has no value of that name' in complaint("run", add_model, "--input", f"x={x}", "--output", "z")
    assert "--output" in complaint("run", add_model, "--verify", tmp_path, "--output", "y", status=USAGE)


def test_dimensions_are_fixed_by_the_configuration(add_model):
    result = facts("run", add_model, "--random", "--set", "/session/dimensions/rows=4")
    assert result["outputs"][0]["shape"] == [4, 3]


def test_random_inputs_depend_on_the_seed_alone(add_model):
    def run(seed):
        return facts("run", add_model, "--random", "--dim", "rows=5", "--seed", seed)["outputs"]

    assert run(1) == run(1) and run(1) != run(2)


@pytest.mark.parametrize("name", ["FLOAT16", "BFLOAT16", "DOUBLE", "INT8", "UINT64", "BOOL", "STRING", "INT4", "FLOAT8E4M3FN"])
def test_random_inputs_of_every_kind_of_type(tmp_path, name):
    element_type = getattr(TensorProto, name)
    model = save(tmp_path / "same.onnx", [helper.make_node("Reshape", ["x", "shape"], ["y"])], [("x", element_type, [3, 4])],
                 [("y", element_type, [12])], [numpy_helper.from_array(np.int64([12]), "shape")])
    (output,) = facts("run", model, "--random", "--out", tmp_path / "out")["outputs"]
    assert output["shape"] == [12]
    assert np.load(output["file"]).shape == (12,)
    if name != "STRING":
        assert -1 <= output["min"] <= output["max"] <= 9


@pytest.mark.parametrize("name", ["FLOAT6E2M3", "FLOAT6E3M2"])
def test_random_inputs_and_files_of_6_bit_floats(tmp_path, name):
    six = getattr(TensorProto, name)
    nodes = [helper.make_node("Cast", ["x"], ["wide"], to=TensorProto.FLOAT), helper.make_node("Cast", ["wide"], ["y"], to=six)]
    model = save(tmp_path / "cast.onnx", nodes, [("x", six, [3, 7])], [("y", six, [3, 7]), ("wide", TensorProto.FLOAT, [3, 7])])
    proto = onnx.load(model)
    proto.opset_import[0].version = 28
    onnx.save(proto, model)
    y, wide = facts("run", model, "--random", "--out", tmp_path / "out")["outputs"]
    assert -1 <= wide["min"] < wide["max"] <= 1
    assert (y["min"], y["max"]) == (wide["min"], wide["max"])
    codes = np.load(y["file"])
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(codes.view(helper.tensor_dtype_to_np_dtype(six)).astype(np.float32), np.load(wide["file"]))


@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_pictures_are_scaled_and_resized(picture_model, tmp_path, ending):
    picture = np.zeros((4, 8, 3), np.uint8)
    picture[:, :, 0] = 255  # red
    Image.fromarray(picture).save(tmp_path / f"p.{ending}")
    gantry("run", picture_model, "--image", f"x={tmp_path}/p.{ending}", "--image-scale", "0.01", "--image-mean", "1,2,3",
           "--image-std", "0.5", "--image-order", "bgr", "--out", tmp_path)
    y = np.load(tmp_path / "y.npy")
    assert y.shape == (1, 3, 2, 4)  # the height is the model's, the width keeps the proportions
    np.testing.assert_allclose(y[0, :, 0, 0], [(0 - 1) / 0.5, (0 - 2) / 0.5, (2.55 - 3) / 0.5], atol=0.05)


def test_resizing_is_bilinear(picture_model, tmp_path):
    Image.fromarray(np.uint8([[[0] * 3, [100] * 3]] * 2)).save(tmp_path / "p.png")
    gantry("run", picture_model, "--image", f"x={tmp_path}/p.png", "--image-scale", "1", "--dim", "width=4", "--out", tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy")[0, 0, 0], [0, 25, 75, 100])


# ---- recorded outputs ----


def save_set(folder, x, y):
    folder.mkdir(parents=True)
    (folder / "input_0.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    (folder / "output_0.pb").write_bytes(numpy_helper.from_array(y).SerializeToString())


def test_verify_compares_every_set(add_model, tmp_path):
    x = np.ones((2, 3), np.float32)
    y = x + np.float32([1, 2, 3])
    save_set(tmp_path / "sets" / "test_data_set_0", x, y)
    save_set(tmp_path / "sets" / "test_data_set_1", x, y * np.float32(1.0005))
    result = facts("run", add_model, "--verify", tmp_path / "sets")
    assert (result["passed"], result["failed"]) == (2, 0)
    save_set(tmp_path / "sets" / "test_data_set_10", x, y + 1)
    result = facts("run", add_model, "--verify", tmp_path / "sets", status=NO)
    assert (result["passed"], result["failed"]) == (2, 1)
    (output,) = result["sets"][2]["outputs"]
    assert output["differing"] == 6 and output["max_absolute_difference"] == 1
    assert output["difference"] == "element 0 is 2, expected 3"
    assert "2 passed, 1 failed" in gantry("run", add_model, "--verify", tmp_path / "sets", status=NO)[0]
    assert facts("run", add_model, "--verify", tmp_path / "sets", "--atol", "2")["failed"] == 0


def test_verify_takes_one_folder_too(add_model, tmp_path):
    x = np.zeros((1, 3), np.float32)
    save_set(tmp_path / "set", x, np.float64([[1, 2, 3]]))
    result = facts("run", add_model, "--verify", tmp_path / "set", status=NO)
    assert result["sets"][0]["outputs"][0]["difference"] == "it is float32[1,3], expected float64[1,3]"
    assert "found neither" in complaint("run", add_model, "--verify", tmp_path)


# ---- mistakes ----


def test_no_command_and_wrong_commands():
    assert complaint(status=USAGE) == (
        "a command is needed: devices, doctor, run, check, explain, bench, inspect, config, provider, sdk, completion, see gantry --help"
    )
    assert complaint("devcies", status=USAGE) == 'unknown command "devcies", see gantry --help; did you mean "devices"?'
    assert complaint("run", status=USAGE) == "MODEL is required, see gantry run --help"
    assert 'did you mean "--device"?' in complaint("run", "m.onnx", "--devce", "CPU", status=USAGE)
    assert "--threads" in complaint("bench", "m.onnx", "--threads", "none", status=USAGE)


def test_help_names_every_option(add_model):
    assert "Exit status" in gantry("--help")[0]
    for option in ("--device", "--input", "--image", "--dim", "--random", "--verify", "--out", "--config", "--json"):
        assert option in gantry("run", "--help")[0]
    assert gantry("--version")[0].startswith("gantry ")


def test_models_that_cannot_be_loaded(tmp_path):
    assert "none.onnx" in complaint("run", tmp_path / "none.onnx", "--random")
    (tmp_path / "text.onnx").write_text("this is no model")
    for command in (["run", "--random"], ["check"], ["explain"], ["inspect"], ["bench"]):
        assert "text.onnx" in complaint(command[0], tmp_path / "text.onnx", *command[1:])


def test_inputs_that_do_not_fit(add_model, tmp_path):
    right = save_array(tmp_path / "right.npy", np.zeros((1, 3), np.float32))
    rank = save_array(tmp_path / "rank.npy", np.zeros(3, np.float32))
    doubles = save_array(tmp_path / "doubles.npy", np.zeros((1, 3)))
    said = complaint("run", add_model, "--input", f"xx={right}")
    assert said == 'the model has no input "xx"; it has x (float32[rows,3]); did you mean "x"?'
    said = complaint("run", add_model)
    assert said == 'no value for input "x" (float32[rows,3]); give --input NAME=FILE or --random'
    said = complaint("run", add_model, "--random")
    assert said == 'input "x" is float32[rows,3]; random elements need every extent: give --dim rows=N'
    assert "float32[3]" in complaint("run", add_model, "--input", f"x={rank}")
    assert "float64[1,3]" in complaint("run", add_model, "--input", f"x={doubles}")
    assert complaint("run", add_model, "--input", "x=none.npy") == "none.npy: there is no such file"
    assert "takes NAME=FILE" in complaint("run", add_model, "--input", right, status=USAGE)
    assert "given twice" in complaint("run", add_model, "--input", f"x={right}", "--input", f"x={right}")
    assert 'did you mean "rows"?' in complaint("run", add_model, "--random", "--dim", "row=2")
    assert 'a number from 0, found "rows=-2"' in complaint("run", add_model, "--random", "--dim", "rows=-2", status=USAGE)
    said = complaint("run", add_model, "--random", "--dim", "rows=99999999999")
    assert said == 'random elements for input "x": no memory for a block of 1199999999988 bytes'


def test_each_name_is_offered_once(tmp_path):
    """An extent that two inputs share, and a device that two providers have."""
    shared = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in "xyz"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "g", shared[:2], shared[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "add.onnx")
    assert 'no open extent "q"; they have n;' in complaint("run", tmp_path / "add.onnx", "--random", "--dim", "q=3") + ";"
    assert complaint("run", tmp_path / "add.onnx", "--random", "--dim", "n=2", "--device", "CPU:99").count("CPU:0") == 1


@pytest.mark.parametrize("option", [("--image-scale", "nan"), ("--image-mean", "0,inf"), ("--image-std", "1,0"), ("--rtol", "nan"), ("--device", "")])
def test_numbers_that_are_none_and_empty_texts_are_wrong_usage(picture_model, option):
    assert option[0] in complaint("run", picture_model, "--random", *option, status=USAGE)


def test_a_measurement_has_a_length(add_model):
    assert "--seconds: expected a number from 0 to 86400" in complaint("bench", add_model, "--seconds", "nan", status=USAGE)


def test_pictures_that_do_not_fit(add_model, picture_model, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    Image.new("RGB", (4, 4)).save(tmp_path / "p.png")
    assert "neither" in complaint("run", picture_model, "--image", f"x={tmp_path}/text.png")
    assert "damaged" in complaint("run", picture_model, "--image", f"x={tmp_path}/cut.png")
    assert "cannot be opened" in complaint("run", picture_model, "--image", f"x={tmp_path}/none.png")
    assert "[1,C,H,W]" in complaint("run", add_model, "--image", f"x={tmp_path}/p.png")
    said = complaint("run", picture_model, "--image", f"x={tmp_path}/p.png", "--image-mean", "1,2")
    assert "one for each of the 3 channels" in said


@pytest.mark.parametrize("device", ["cpu", "CPU:7", "CUDA:x", "CPU:", "TPU"])
def test_devices_that_are_not_there(add_model, device):
    said = complaint("run", add_model, "--random", "--dim", "rows=1", "--device", device)
    assert device in said


def test_a_node_that_nobody_runs(unknown_model):
    said = complaint("run", unknown_model, "--random")
    assert "strange" in said and "Frobnicate" in said


def test_configuration(add_model, tmp_path):
    config = tmp_path / "c.json"
    config.write_text(json.dumps({"session": {"threads": 1}}))
    facts("run", add_model, "--random", "--dim", "rows=1", "--config", config)
    config.write_text(json.dumps({"session": {"thread": 1}}))
    said = complaint("run", add_model, "--random", "--config", config)
    assert str(config) in said and "/session" in said and "threads" in said
    assert "none.json" in complaint("devices", "--config", tmp_path / "none.json")


def test_output_folders_that_cannot_be_made(add_model, tmp_path):
    (tmp_path / "file").write_text("")
    said = complaint("run", add_model, "--random", "--dim", "rows=1", "--out", tmp_path / "file" / "out", status=ERROR)
    assert "cannot be made" in said


def test_long_names_of_outputs_become_file_names(tmp_path):
    names = [letter * 500 for letter in "ab"] + ["b" * 499]
    model = save(tmp_path / "long.onnx", [helper.make_node("Neg", ["x"], [name]) for name in names], [("x", TensorProto.FLOAT, [2])],
                 [(name, TensorProto.FLOAT, [2]) for name in names])
    written = [output["file"] for output in facts("run", model, "--random", "--out", tmp_path / "out")["outputs"]]
    assert len(set(written)) == 3
    for file in written:
        assert np.load(file).shape == (2,)


def test_what_libraries_print_is_no_part_of_the_document(tmp_path):
    """oneDNN's log goes to standard output, where only the document belongs."""
    weights = numpy_helper.from_array(np.ones((24, 24, 5, 5), np.float32), "w")
    model = save(tmp_path / "conv.onnx", [helper.make_node("Conv", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, [1, 24, 9, 9])],
                 [("y", TensorProto.FLOAT, [1, 24, 5, 5])], [weights])
    output, error = gantry("run", model, "--random", "--json", env={"ONEDNN_VERBOSE": "2"})
    assert json.loads(output) and "onednn_verbose" in error


def test_help_that_cannot_be_written_is_an_error():
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = subprocess.run([BINARY, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (ERROR, "gantry: the output cannot be written\n")


@pytest.mark.parametrize("closed", [[1], [0, 1], [0, 1, 2]])
def test_closed_descriptors(closed, tmp_path):
    """What cannot be written is an error, and no file of another purpose gets the number."""
    def close():
        for number in closed:
            os.close(number)

    done = subprocess.run([BINARY, "devices", "--json"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=close, text=True, timeout=60, check=False,
                          env={**os.environ, "GANTRY_PROBE_CACHE": str(tmp_path)})
    assert done.returncode == ERROR
    assert 2 in closed or done.stderr == "gantry: the output cannot be written\n"
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"{" in file.read_bytes()]


@pytest.mark.parametrize("typed, completed", [
    (["ch"], ["check"]),
    (["provider", "n"], ["new"]),
    (["config", "check", "--js"], ["--json"]),
    (["bench", "model.onnx", "--device", "CPU", "--call"], ["--callers"]),
    (["run", "check", "--th"], ["--threads"]),  # a file may be called as a command is
    (["run", "mod"], []),  # then the shell looks for files
])
def test_bash_completes_what_is_typed(typed, completed):
    script = gantry("completion", "bash")[0] + '\nCOMP_WORDS=(gantry "$@"); COMP_CWORD=$#; _gantry; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-u", "-c", script, "bash", *typed], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert done.stdout.split() == completed
    assert done.stderr == ""
    assert gantry("completion", "zsh")[0].startswith("autoload -U +X bashcompinit")
    assert "SHELL" in complaint("completion", "tcsh", status=USAGE)


def test_many_callers_run_one_session(add_model):
    facts_of_many = facts("bench", add_model, "--dim", "rows=2", "--callers", "4", "--threads", "1", "--runs", "50")
    assert (facts_of_many["callers"], facts_of_many["runs"]) == (4, 50)
    assert facts_of_many["runs_per_second"] > 0
    text = gantry("bench", add_model, "--dim", "rows=2", "--callers", "3", "--seconds", "0")[0]
    assert "for each of 3 callers" in text and "runs a second" in text
    complaint("bench", add_model, "--callers", "0", status=USAGE)


@pytest.mark.parametrize("dtype", [TensorProto.INT32, TensorProto.INT64])
def test_random_integers_are_in_every_vocabulary(dtype, tmp_path):
    """Two rows, as the table of token types in BERT has."""
    model = save(tmp_path / "lookup.onnx", [helper.make_node("Gather", ["table", "ids"], ["y"])], [("ids", dtype, [1, 256])],
                 [("y", TensorProto.FLOAT, [1, 256, 3])], [numpy_helper.from_array(np.ones((2, 3), np.float32), "table")])
    assert "y: float32[1,256,3]" in gantry("run", model, "--random")[0]
