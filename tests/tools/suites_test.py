# SPDX-License-Identifier: Apache-2.0
"""tools/suites on a small suite of its own: gantry is in ONNX Runtime's place, and each way in which a test can end is told."""

import importlib.machinery
import importlib.util
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITE = """
import os, time
import numpy as np
import onnx
import onnxruntime
import onnxruntime.quantization
import onnxruntime.capi.onnxruntime_pybind11_state as state
import pytest
IS_GANTRY = "gantry" in onnxruntime.get_build_info()
def run():
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }')
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.array([-1, 2], np.float32)})[0].tolist()
def test_right(): assert run() == [0, 2]
def test_version(): assert onnxruntime.__version__.startswith("1.") and issubclass(state.InvalidArgument, Exception)
def test_wrong_for_both(): assert run() == [0, 3]
@pytest.mark.xfail
def test_expected_to_fail(): assert run() == [0, 3]
def test_named(): assert not IS_GANTRY
"""


@pytest.fixture(name="suites")
def load_suites(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    loader = importlib.machinery.SourceFileLoader("suites", str(ROOT / "tools" / "suites"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("suites", loader))
    loader.exec_module(tool)
    monkeypatch.setattr(tool, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(tool, "SUITES", {"small": tool.Suite(path=".")})
    monkeypatch.setattr(tool.environment, "PYTHON", sys.executable)
    monkeypatch.setattr(tool.environment, "set_up", lambda: None)
    monkeypatch.setattr(tool, "reasons", lambda: {"small::*test_named": "its name is part of the test"})
    return tool


def run(suites, monkeypatch, folder, *arguments):
    monkeypatch.setattr(sys, "argv", ["suites", "--folder", f"small={folder}", *arguments])
    return suites.run()


def write(folder, text=""):
    (folder / "tests").mkdir(parents=True, exist_ok=True)
    (folder / "tests" / "test_small.py").write_text(SUITE + text)
    return folder


def test_what_both_pass_is_counted(suites, tmp_path, monkeypatch, capsys):
    """What ONNX Runtime does not pass, is expected to fail, or has a reason does not count."""
    assert run(suites, monkeypatch, write(tmp_path / "suite")) == 0
    assert capsys.readouterr().out.splitlines() == ["running small", "small: 2 of 2 pass; of all 5 ONNX Runtime passes 3, gantry 2", "2 of 2 pass"]


def test_a_test_that_fails_crashes_or_hangs_is_a_line(suites, tmp_path, monkeypatch, capsys):
    """And those behind it run."""
    monkeypatch.setattr(suites, "LIMIT_S", 10)
    folder = write(tmp_path / "suite", """
def test_wrong(): assert not IS_GANTRY, "other  than it"
def test_crashing():
    if IS_GANTRY: os.abort()
def test_hanging():
    while IS_GANTRY: time.sleep(0.1)
def test_behind(): assert run() == [0, 2]
""")
    assert run(suites, monkeypatch, folder) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6 and lines[-1] == "3 of 6 pass"
    for line, (name, told) in zip(lines[1:], [("wrong: failed", "other than it"), ("crashing: crashes", "status -6"), ("hanging: hangs", "status")]):
        assert line.startswith(f"small::tests/test_small.py::test_{name}: ") and told in line
    # What is mended is run again when it is asked for, and nothing else is.
    write(tmp_path / "suite", "def test_wrong(): pass\ndef test_crashing(): pass\ndef test_hanging(): pass\ndef test_behind(): assert False\n")
    assert run(suites, monkeypatch, folder) == 1
    assert capsys.readouterr().out.endswith("3 of 6 pass\n")
    assert run(suites, monkeypatch, folder, "--only", "wrong", "crashing", "hanging") == 0
    assert capsys.readouterr().out.endswith("3 of 3 pass\n")


def test_a_file_that_cannot_be_imported(suites, tmp_path, monkeypatch, capsys):
    folder = write(tmp_path / "suite")
    (folder / "tests" / "test_import.py").write_text("import onnxruntime\nfrom onnxruntime import get_build_info\nassert 'gantry' not in get_build_info()\ndef test(): pass\n")
    assert run(suites, monkeypatch, folder) == 1
    assert "small::tests/test_import.py::test: missing" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, told", [
    (["other"], "expected suites of small, found other"), (["--folder", "small=/nowhere"], "no folder /nowhere"),
])
def test_what_is_not_there(suites, tmp_path, monkeypatch, capsys, arguments, told):
    with pytest.raises(SystemExit):
        run(suites, monkeypatch, write(tmp_path / "suite"), *arguments)
    assert told in capsys.readouterr().err


def test_a_suite_on_no_registry_asks_for_a_folder(suites, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["suites", "small"])
    with pytest.raises(suites.Failure, match="small is on no registry; give a checkout of it: --folder small=PATH"):
        suites.run()
