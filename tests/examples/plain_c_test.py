# SPDX-License-Identifier: Apache-2.0
"""examples/providers/plain_c: a provider in C11, so that nothing of the boundary lives in the C++ layer alone."""

import json
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from broken_models import make_model, value
from command_line import facts
from installed_sdk import ROOT, build, install
from onnx import helper

SOURCE = ROOT / "examples" / "providers" / "plain_c"


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain_c")
    return build(SOURCE, install(folder), into=folder / "build") / "plain_c.json"


def test_it_needs_the_c_header_alone(manifest):
    compiled = (manifest.parent / "CMakeCache.txt").read_text(encoding="utf-8")
    assert "CMAKE_C_COMPILER:" in compiled and "CMAKE_CXX_COMPILER:" not in compiled
    includes = [line for line in (SOURCE / "plain_c.c").read_text(encoding="utf-8").splitlines() if line.startswith("#include")]
    assert includes == ["#include <gantry/provider.h>", "#include <stdlib.h>", "#include <string.h>"]


def test_keeps_the_rules_of_the_boundary(manifest):
    report = facts("provider", "test", manifest)
    checks = {check["name"]: check["status"] for check in report["checks"]}
    assert [name for name, status in checks.items() if status not in ("passed", "skipped")] == []
    assert report["level_reached"] == 5
    assert checks["random.Relu/float32"] == checks["threads.run"] == checks["faults.stopped-runs"] == "passed"
    assert facts("provider", "lint", manifest)["good"]


def test_computes(manifest, tmp_path):
    nodes = [helper.make_node("Add", ["x", "y"], ["s"], name="add"), helper.make_node("Relu", ["s"], ["z"], name="relu")]
    onnx.save(make_model(nodes, [value(name, shape=(7, 9000)) for name in "xy"], [value("z", shape=(7, 9000))]), tmp_path / "model.onnx")
    (tmp_path / "config.json").write_text(json.dumps({"placement": {"prefer": ["PLAIN_C"]}}), encoding="utf-8")
    x, y = np.random.default_rng(2).standard_normal((2, 7, 9000), np.float32)
    np.savez(tmp_path / "0.npz", x=x, y=y)
    done = subprocess.run([sys.executable, ROOT / "tests" / "support" / "run_session.py", tmp_path / "model.onnx", tmp_path / "config.json", tmp_path],
                          env={**os.environ, "GANTRY_ADD_PROVIDER_FILES": str(manifest), "GANTRY_PROBE_CACHE": "off"},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert {node["provider"] for node in json.loads(done.stdout)} == {"plain-c"}
    np.testing.assert_array_equal(np.load(tmp_path / "out_0.npz")["z"], np.maximum(x + y, 0))
