# SPDX-License-Identifier: Apache-2.0
"""The configurations in configs/samples: good by the schema, loaded by the runtime, and obeyed."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
from command_line import ERROR, NO, facts, gantry
from onnx import helper, numpy_helper

import gantry as python_gantry

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = {file.stem: file for file in sorted((ROOT / "configs" / "samples").glob("*.json"))}
PROVIDERS = ROOT / "build" / "release" / "lib" / "gantry" / "providers.d"


@pytest.fixture(name="model", scope="module")
def save_model(tmp_path_factory):
    """Softmax(Relu(x w)): the simulated accelerator has all but the Softmax."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["product"], name="product"),
             helper.make_node("Relu", ["product"], ["positive"], name="positive"),
             helper.make_node("Softmax", ["positive"], ["y"], name="Softmax.0")]
    info = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 4]) for name in "xy"]
    weights = numpy_helper.from_array(np.random.default_rng(1).uniform(-1, 1, (4, 4)).astype(np.float32), "w")
    file = tmp_path_factory.mktemp("samples") / "model.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", info[:1], info[1:], [weights]),
                                opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
    return file


def placed(model, sample):
    explanation = facts("explain", model, "--run", "--random", "--config", sample)
    return {node["node"]: node["device"] for node in explanation["nodes"]}, explanation


@pytest.mark.parametrize("name", SAMPLES)
def test_is_good_and_loaded(name):
    report = facts("config", "check", SAMPLES[name])
    assert report["valid"] is True
    assert json.loads(SAMPLES[name].read_text())["$schema"] == "../gantry.schema.json"
    values = {row["pointer"]: row["origin"] for row in facts("config", "show", "--config", SAMPLES[name])["values"]}
    assert any(origin.startswith(f"{SAMPLES[name]}:") for origin in values.values())


@pytest.mark.parametrize("name", SAMPLES)
def test_is_described(name):
    """The page about the configuration has a test for each sample here."""
    assert f"test_{name.replace('-', '_')}" in globals()


def test_cpu_threads(model):
    assert facts("bench", model, "--seconds", "0.05", "--warm-up", "0", "--config", SAMPLES["cpu-threads"])["threads"] == 2
    assert set(placed(model, SAMPLES["cpu-threads"])[0].values()) == {"CPU:0"}


def test_prefer_accelerator_with_fallback(model):
    devices, explanation = placed(model, SAMPLES["prefer-accelerator-with-fallback"])
    cuda = any(row["device"] == "CUDA:0" and row["state"] == "ready" for row in facts("devices")["devices"])
    if cuda:
        assert devices["product"] == "CUDA:0"
    else:
        assert devices == {"product": "SIM:0", "positive": "SIM:0", "Softmax.0": "CPU:0"}
        (warning,) = explanation["warnings"]
        assert "/placement/prefer/0: device \"CUDA:0\"" in warning


def test_operators_to_a_device(model):
    devices, _ = placed(model, SAMPLES["operators-to-a-device"])
    assert devices == {"product": "SIM:1", "positive": "CPU:0", "Softmax.0": "CPU:0"}
    text = SAMPLES["operators-to-a-device"].read_text()
    x = np.ones((2, 4), np.float32)
    split, cpu = python_gantry.Session(model, config=json.loads(text)), python_gantry.Session(model)
    np.testing.assert_allclose(split.run({"x": x})["y"], cpu.run({"x": x})["y"], rtol=1e-5)


def test_profile(model, tmp_path):
    trace = tmp_path / "trace.json"
    own = tmp_path / "own.json"
    own.write_text(SAMPLES["profile"].read_text().replace('"trace.json"', json.dumps(str(trace))))
    facts("run", model, "--random", "--config", own)
    names = {event.get("name") for event in json.loads(trace.read_text())["traceEvents"]}
    assert any("MatMul" in str(name) or "product" in str(name) for name in names), names


def test_vendor_folder(model, tmp_path):
    sample = SAMPLES["vendor-folder"]
    (row,) = [row for row in facts("doctor", "--config", sample, status=NO)["providers"] if row["manifest"].startswith("/opt/vendor")]
    assert row["state"] == "rejected" and "not there" in row["message"]
    folder = tmp_path / "providers.d"
    folder.mkdir()
    for name in ("sim.json", "libgantry_sim.so"):
        shutil.copy(PROVIDERS / name, folder / name)
    own = tmp_path / "own.json"
    own.write_text(sample.read_text().replace("/opt/vendor/gantry/providers.d", str(folder)))
    rows = {row["manifest"]: row["state"] for row in facts("doctor", "--config", own)["providers"]}
    assert rows[str(folder / "sim.json")] == "ready" and rows[str(PROVIDERS / "sim.json")] == "shadowed"
    assert placed(model, own)[0]["product"] == "SIM:0"


def test_site_lockdown(model):
    sample = SAMPLES["site-lockdown"]
    devices = {row["type"] for row in facts("devices", "--config", sample)["devices"]}
    assert "CPU" in devices and "SIM" not in devices
    assert "disabled" in gantry("check", model, "--config", sample, "--device", "SIM", status=ERROR)[1]
    assert set(placed(model, sample)[0].values()) == {"CPU:0"}
    # It stays in force under a session's document that does not name providers itself.
    script = "import gantry, sys; gantry.Session(sys.argv[1], device='SIM', config={'session': {'threads': 1}})"
    done = subprocess.run([sys.executable, "-c", script, model], env=os.environ | {"GANTRY_CONFIG": str(sample)}, capture_output=True,
                          text=True, check=False)
    assert done.returncode != 0 and "SIM" in done.stderr and "disabled" in done.stderr
    # One that does has a runtime of its own: what nobody may change is for the site's policy file.
    script = """import gantry, sys
placement = gantry.Session(sys.argv[1], config={"providers": {"disable": []}, "placement": {"prefer": ["SIM:0", "CPU"], "fallback": "allow"}}).placement
print(sorted({node.device for node in placement.nodes}))"""
    done = subprocess.run([sys.executable, "-c", script, model], env=os.environ | {"GANTRY_CONFIG": str(sample)}, capture_output=True,
                          text=True, check=False)
    assert done.stdout == "['CPU:0', 'SIM:0']\n", done.stdout + done.stderr
