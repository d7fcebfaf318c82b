# SPDX-License-Identifier: Apache-2.0
"""The provider as a file: how large it is, and which libraries it opens when."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import onnx
import pytest
from command_line import facts
from onnx import TensorProto, helper

MOST_BYTES = 25_000_000
OPEN = """
import sys, gantry
for model in sys.argv[1:]:
    try:
        gantry.Session(model)
    except gantry.Error as error:
        print("refused:", error)
    print([name for name in ("libgantry_cpu.so", "libgantry_cpu_media.so", "libicuuc", "libtiff") if name in open("/proc/self/maps").read()])
"""


def manifest():
    return pathlib.Path(os.environ["GANTRY_PROVIDER_FILES"])


def model_of(folder, op_type, element, **attributes):
    value = [helper.make_tensor_value_info(name, element, ["n"]) for name in "xy"]
    graph = helper.make_graph([helper.make_node(op_type, ["x"], ["y"], **attributes)], "g", value[:1], value[1:])
    path = folder / f"{op_type}.onnx"
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)]), path)
    return path


def open_sessions(models, **variables):
    done = subprocess.run([sys.executable, "-c", OPEN, *map(str, models)], env={**os.environ, **variables}, capture_output=True, text=True,
                          check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_is_small():
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("a build with a sanitizer is larger")
    assert (manifest().parent / "libgantry_cpu.so").stat().st_size < MOST_BYTES


def test_opens_libraries_for_texts_when_a_model_has_some(tmp_path):
    models = [model_of(tmp_path, "Relu", TensorProto.FLOAT), model_of(tmp_path, "StringNormalizer", TensorProto.STRING)]
    before, after = open_sessions(models)
    assert before == "['libgantry_cpu.so']"
    assert after == "['libgantry_cpu.so', 'libgantry_cpu_media.so', 'libicuuc', 'libtiff']"


def test_says_when_its_second_library_is_missing(tmp_path):
    described = json.loads(manifest().read_text())
    for name in (manifest().name, described.get("library", "libgantry_cpu.so")):
        shutil.copy(manifest().parent / name, tmp_path)
    models = [model_of(tmp_path, "Relu", TensorProto.FLOAT), model_of(tmp_path, "StringNormalizer", TensorProto.STRING)]
    relu, refused, after = open_sessions(models, GANTRY_PROVIDER_FILES=str(tmp_path / manifest().name))
    assert relu == after == "['libgantry_cpu.so']"
    assert refused.startswith("refused:") and "libgantry_cpu_media.so" in refused and "install it" in refused, refused


def test_doctor_warns_of_its_second_library(tmp_path):
    def warnings(file):
        (row,) = facts("doctor", env={"GANTRY_PROVIDER_FILES": str(file)})["providers"]
        assert row["state"] == "ready"
        return row["warnings"]

    assert warnings(manifest()) == []
    for name in (manifest().name, json.loads(manifest().read_text())["library"]):
        shutil.copy(manifest().parent / name, tmp_path)
    (warning,) = warnings(tmp_path / manifest().name)
    assert str(tmp_path / "libgantry_cpu_media.so") in warning and "encoded images need it" in warning, warning
