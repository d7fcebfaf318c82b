# SPDX-License-Identifier: Apache-2.0
"""Programs that register a library of plugin execution providers with ONNX Runtime's Python module: the same with gantry.onnxruntime in its place. The library is
gantry's own plugin."""

import json
import subprocess
import sys

import gantry.onnxruntime_ep
import numpy as np
import onnx
import pytest

from small_graph import small_graph

LIBRARY = gantry.onnxruntime_ep.get_library_path()
EP = gantry.onnxruntime_ep.get_ep_name()
X = np.array([1, -2, 3], np.float32)


@pytest.fixture
def model(tmp_path):
    onnx.save(small_graph("t = Neg(x) y = Relu(t)", {"x": X})[0], tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def run(module, script, *arguments):
    """The script's lines, run in a process of its own with `ort` as the module."""
    text = f"import json, sys\nimport numpy as np\nimport {module} as ort\nX = np.array({X.tolist()}, np.float32)\nLIBRARY, EP = {LIBRARY!r}, {EP!r}\n{script}"
    done = subprocess.run([sys.executable, "-c", text, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


BY_DEVICES = """
ort.register_execution_provider_library("mine", LIBRARY)
devices = [device for device in ort.get_ep_devices() if device.ep_name == EP]
options = ort.SessionOptions()
options.add_provider_for_devices(devices[:1], {"device": "CPU:0"})
print(options.has_providers(), [device.device.type.name for device in devices])
session = ort.InferenceSession(sys.argv[1], sess_options=options)
print(session.get_providers(), session.run(None, {"x": X})[0].tolist())
del session
ort.unregister_execution_provider_library("mine")
"""


@pytest.mark.parametrize("module", ["onnxruntime", "gantry.onnxruntime"])
def test_a_provider_chosen_by_its_devices(module, model):
    said = run(module, BY_DEVICES, model)
    assert said == ["True ['CPU']", f"['{EP}', 'CPUExecutionProvider'] [0.0, 2.0, 0.0]"]


BY_NAME = """
import warnings
warnings.simplefilter("error")
ort.register_execution_provider_library("mine", LIBRARY)
session = ort.InferenceSession(sys.argv[1], providers=[(EP, {"device": "CPU:0"}), "CPUExecutionProvider"])
print(json.dumps([session.get_providers(), session.get_provider_options()]))
print(sorted({row.ep_name for row in session.get_provider_graph_assignment_info()}), session.run(None, {"x": X})[0].tolist())
plain = ort.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
print(sorted({row.ep_name for row in plain.get_provider_graph_assignment_info()}), EP in ort.get_available_providers())
"""


def test_a_provider_chosen_by_its_name(model):
    said = run("gantry.onnxruntime", BY_NAME, model)
    assert json.loads(said[0]) == [[EP, "CPUExecutionProvider"], {EP: {"device_id": "0", "device": "CPU:0"}, "CPUExecutionProvider": {"device_id": "0"}}]
    assert said[1:] == [f"['{EP}'] [0.0, 2.0, 0.0]", "['CPUExecutionProvider'] False"]


AFTER_ALL = """
import gantry
def tried(function, *arguments):
    try:
        function(*arguments)
        print("done")
    except gantry.Error as error:
        print(type(error).__name__, error)
text, other = sys.argv[2:]
tried(ort.register_execution_provider_library, "text", text)
tried(ort.register_execution_provider_library, "none", text + ".none")
tried(ort.register_execution_provider_library, "other", other)
tried(ort.unregister_execution_provider_library, "text")
tried(ort.register_execution_provider_library, "mine", LIBRARY)
tried(ort.register_execution_provider_library, "mine", LIBRARY)
print(len([device for device in ort.get_ep_devices() if device.ep_name == EP]))
tried(ort.unregister_execution_provider_library, "mine")
print(len([device for device in ort.get_ep_devices() if device.ep_name == EP]))
tried(ort.register_execution_provider_library, "again", LIBRARY)
session = ort.InferenceSession(sys.argv[1], providers=[EP])
tried(ort.register_execution_provider_library, "late", LIBRARY)
"""


def test_libraries_that_cannot_be_registered(model, tmp_path):
    (tmp_path / "text.so").write_text("no library")
    other = gantry.onnxruntime_ep.get_library_path().replace("onnxruntime/libgantry_onnxruntime_ep.so", "../libgantry.so")
    text, none, wrong, unknown, done, taken, some, gone, left, again, late = run("gantry.onnxruntime", AFTER_ALL, model, tmp_path / "text.so", other)
    assert text.startswith(f'Error execution provider library "text": {tmp_path}/text.so: ')
    assert none == f'NotFoundError execution provider library "none": {tmp_path}/text.so.none is no file'
    assert "expected a plugin execution provider made for ONNX Runtime, which exports CreateEpFactories" in wrong
    assert unknown == 'InvalidArgumentError execution provider library "text": it is not registered; registered are none'
    assert taken.startswith('InvalidArgumentError execution provider library "mine": expected a name of its own; it is registered, with ')
    assert (done, some, gone, left, again) == ("done", "1", "done", "0", "done")
    assert late.startswith('UnavailableError execution provider library "late": expected to be registered before the first session')
