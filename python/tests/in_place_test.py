# SPDX-License-Identifier: Apache-2.0
"""Programs that import onnxruntime, with gantry in its place."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np, onnx.parser
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession

model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[N] x) => (float[N] y) { y = Neg(x) }')
session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
try:
    session.run(None, {"z": np.ones(2, np.float32)})
except InvalidArgument:
    print(type(session).__module__, session.run(None, {"x": np.ones(2, np.float32)})[0].tolist(), onnxruntime.__version__.count("."), __name__, sys.argv[1:])
"""


def run(*arguments, status=0, folder=None):
    done = subprocess.run([sys.executable, "-m", "gantry.onnxruntime", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          check=False, cwd=folder, env=os.environ)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


SAID = "gantry.onnxruntime.session [-1.0, -1.0] 2 __main__ ['--fast', 'x']\n"


@pytest.mark.parametrize("as_module", [False, True])
def test_a_program_runs_unchanged(tmp_path, as_module):
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    what = ["-m", "program"] if as_module else [tmp_path / "program.py"]
    assert run(*what, "--fast", "x", folder=tmp_path) == (SAID, "")


def test_onnx_runtimes_own_python_gets_gantrys_sessions(tmp_path):
    pytest.importorskip("onnxruntime.quantization")
    (tmp_path / "program.py").write_text("import onnxruntime.quantization as q\nprint(q.__name__, q.calibrate.onnxruntime.InferenceSession.__module__)\n", encoding="utf-8")
    assert run(tmp_path / "program.py")[0] == "onnxruntime.quantization gantry.onnxruntime.session\n"


def test_without_onnx_runtime_the_version_is_the_one_that_is_followed(tmp_path):
    (tmp_path / "program.py").write_text("import onnxruntime\nprint(onnxruntime.__version__, onnxruntime.get_available_providers()[-1])\n", encoding="utf-8")
    hide = "import importlib.metadata as m\ndef missing(name): raise m.PackageNotFoundError(name)\nm.version = missing\nimport importlib.util as u\nfind = u.find_spec\nu.find_spec = lambda name: None if name == 'onnxruntime' else find(name)\n"
    code = hide + f"import sys, runpy\nsys.argv = ['x', {str(tmp_path / 'program.py')!r}]\nrunpy.run_module('gantry.onnxruntime', run_name='__main__')\n"
    done = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "1.31.1 CPUExecutionProvider\n"


def test_wrong_usage_is_told():
    assert "usage: python -m gantry.onnxruntime" in run(status=2)[1]
    assert "usage: python -m gantry.onnxruntime" in run("--help")[0]
