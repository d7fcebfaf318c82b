# SPDX-License-Identifier: Apache-2.0
"""gantry.backend as programs use a Backend: probing devices, listing which operators run, running once against preparing, running checks that
know only the interface, and the standard's report of what its suite covered. Each for the module and for the class, which are used alike."""

import re
import subprocess
import sys

import numpy as np
import pytest
from broken_models import add_model, make_model, value
from onnx import defs, helper

import gantry
from gantry import backend

BACKENDS = pytest.mark.parametrize("used", [backend, backend.Backend, backend.Backend()], ids=["module", "class", "object"])
ONES = np.ones((2, 3), np.float32)


def one_node(op_type, inputs=("x",), **attributes):
    node = helper.make_node(op_type, list(inputs), ["y"], **attributes)
    return make_model([node], [value(name, shape=(2, 2)) for name in dict.fromkeys(inputs)], [value("y", shape=(2, 2))])


def states(used, models):
    """What a table of supported operators says: by operator, whether it is compatible, whether it can be prepared, and the error."""
    table = {}
    for name, model in models.items():
        try:
            row = {"compatible": used.is_compatible(model), "error": None}
            row["prepared"] = row["compatible"] and used.prepare(model) is not None
        except gantry.Error as error:
            row = {"compatible": False, "prepared": False, "error": str(error)}
        table[name] = row
    return table


@BACKENDS
def test_devices_are_probed(used):
    names = ("CPU", "CPU:0", "CPU:7", "CUDA", "OpenCL", "NPU:1")
    known = {device.type for device in gantry.devices() if device.state == "ready"}
    assert {name: used.supports_device(name) for name in names} == {
        "CPU": True, "CPU:0": True, "CPU:7": False, "CUDA": "CUDA" in known, "OpenCL": False, "NPU:1": False,
    }  # fmt: skip


def test_a_device_is_made_of_a_type_and_a_number():
    assert backend.Device("CUDA", 1) == backend.Device("CUDA:1") == backend.Device("CUDA", device_id=1)
    assert (backend.Device("CPU", 0).type, backend.Device("CPU", 0).device_id) == (backend.DeviceType.CPU, 0)
    for device, number in (("CUDA:1", 1), ("CPU", -1), ("CPU", "x"), ("", 0)):
        with pytest.raises(gantry.InvalidArgumentError, match="device"):
            backend.Device(device, number)


@BACKENDS
def test_operators_are_listed(used):
    """Of a model that is not valid (an LSTM without weights) and of an operator that nobody knows the answer is no, not an error."""
    models = {"Add": one_node("Add", ("x", "x")), "Relu": one_node("Relu"), "LSTM": one_node("LSTM"), "Nobody": one_node("Nobody", domain="test")}
    models["Nobody"].opset_import.append(helper.make_opsetid("test", 1))
    good = {"compatible": True, "prepared": True, "error": None}
    bad = {"compatible": False, "prepared": False, "error": None}
    assert states(used, models) == {"Add": good, "Relu": good, "LSTM": bad, "Nobody": bad}
    for name in ("LSTM", "Nobody"):
        with pytest.raises(gantry.Error, match=name):
            used.prepare(models[name])


@BACKENDS
def test_a_prepared_model_is_loaded_once(used, monkeypatch):
    """Running a model directly loads it every time. Equal results."""
    loads = []
    session = gantry.Session
    monkeypatch.setattr(gantry, "Session", lambda *arguments, **options: loads.append(1) or session(*arguments, **options))
    model, inputs = add_model(), [ONES, ONES]
    prepared = used.prepare(model)
    results = [prepared.run(inputs)[0] for _ in range(3)]
    assert len(loads) == 1
    np.testing.assert_array_equal(used.run_model(model, inputs)[0], results[0])
    used.run_model(model, inputs)
    assert len(loads) == 3


@BACKENDS
def test_results_have_names(used):
    model = make_model([helper.make_node("Neg", ["input"], ["Y"]), helper.make_node("Abs", ["input"], ["Z"])],
                       [value("input", shape=(2, 3))], [value("Y", shape=(2, 3)), value("Z", shape=(2, 3))])
    for outputs in (used.run_model(model, [ONES]), used.prepare(model).run([ONES])):
        assert isinstance(outputs, tuple) and outputs._fields == ("Y", "Z")
        np.testing.assert_array_equal(outputs.Y, -ONES)
        y, z = outputs
        assert y is outputs["Y"] is outputs[0] and z is outputs.Z


def checks_of(used):
    """Checks of any backend, made for the one that is given: name -> function without arguments."""
    identity = one_node("Identity")

    def interface():
        assert all(callable(getattr(used, name)) for name in ("is_compatible", "prepare", "run_model", "run_node", "supports_device"))

    def compatibility():
        assert used.is_compatible(identity) and callable(used.prepare(identity).run)

    def devices():
        assert used.supports_device("CPU")

    def errors():
        model = one_node("UnsupportedOp")
        assert used.is_compatible(model) is False
        with pytest.raises(Exception, match="UnsupportedOp"):
            used.prepare(model)

    return {check.__name__: check for check in (interface, compatibility, devices, errors)}


@BACKENDS
@pytest.mark.parametrize("name", ["interface", "compatibility", "devices", "errors"])
def test_checks_made_by_a_factory_pass(used, name):
    checks_of(used)[name]()


SUITE = """
from onnx.backend.test import BackendTest

import gantry.backend

pytest_plugins = ("onnx.backend.test.report",)
suite = BackendTest(gantry.backend, __name__)
suite.include("test_transpose_all_permutations_[01]_cpu").include("test_relu_cpu").include("test_bernoulli_double_cpu")
globals().update(suite.enable_report().test_cases)
"""


def test_the_standards_suite_reports_its_coverage(tmp_path):
    """As the suite's own users run it. Of three operators two pass: the values of a Bernoulli are draws of another generator."""
    (tmp_path / "suite_test.py").write_text(SUITE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path / "suite_test.py")]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    line = re.search(r"^Operators \(passed/loaded/total\): .*$", ran.stdout, re.MULTILINE)
    assert line and line[0] == f"Operators (passed/loaded/total): 2/3/{len(defs.get_all_schemas())}", ran.stdout
    assert re.search(r"^Transpose +perm: 2$", ran.stdout, re.MULTILINE) and re.search(r"^Relu +No attributes$", ran.stdout, re.MULTILINE)
    assert re.search(r"1 failed, 3 passed", ran.stdout)
