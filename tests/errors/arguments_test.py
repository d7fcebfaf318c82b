# SPDX-License-Identifier: Apache-2.0
"""Wrong inputs, devices and configurations: from Python and on the command line."""

import json

import numpy as np
import pytest
from broken_models import add_model
from command_line import complaint

import gantry

ONES = np.ones((2, 3), np.float32)

INPUTS = {
    "name": ({"x": ONES, "Y": ONES}, ['"Y"', "no such input", '"x", "y"', 'Did you mean "y"?']),
    "missing": ({"x": ONES}, ['"y"', "missing", "float32[n,3]"]),
    "type": ({"x": ONES, "y": ONES.astype(np.int32)}, ['"y"', "expected float32[n,3]", "found int32[2,3]"]),
    "rank": ({"x": ONES, "y": np.ones(3, np.float32)}, ['"y"', "expected float32[n,3]", "found float32[3]"]),
    "shape": ({"x": ONES, "y": np.ones((2, 4), np.float32)}, ['"y"', "expected float32[n,3]", "found float32[2,4]"]),
    "unlike": ({"x": ONES, "y": np.ones((5, 3), np.float32)}, ['Add "plus"', "[2, 3]", "[5, 3]"]),
}

DEVICES = {
    "FPGA": ("NOT_FOUND", ['"FPGA', "no provider", "CPU"]),
    "CUDA:99": ("NOT_FOUND", ['"CUDA:99"', "CUDA:0"]),
    "cpu": ("NOT_FOUND", ['"cpu', 'Did you mean "CPU"?']),
    "CPU:7": ("NOT_FOUND", ['"CPU:7"', "CPU:0"]),
    "CUDA:x": ("INVALID_ARGUMENT", ['"CUDA:x"', "TYPE:id", '"x"']),
    "CPU:": ("INVALID_ARGUMENT", ['"CPU:"', "TYPE:id"]),
    ":1": ("INVALID_ARGUMENT", ['":1"', "TYPE:id"]),
    "CPU:-1": ("INVALID_ARGUMENT", ['"CPU:-1"', "TYPE:id"]),
    "CPU:99999999999": ("INVALID_ARGUMENT", ['"CPU:99999999999"', "32 bits"]),
    "CPU 0": ("INVALID_ARGUMENT", ['"CPU 0"', "TYPE:id"]),
}


def say_all(message, parts):
    assert "\n" not in message
    for part in parts:
        assert part in message, f"{part!r} is not in {message!r}"


@pytest.fixture(name="model")
def save_model(tmp_path):
    file = tmp_path / "add.onnx"
    file.write_bytes(add_model().SerializeToString())
    return file


@pytest.mark.parametrize("name", INPUTS)
def test_input(name, model, tmp_path):
    inputs, parts = INPUTS[name]
    session = gantry.Session(model)
    with pytest.raises(gantry.InvalidArgumentError) as raised:
        session.run(inputs)
    assert isinstance(raised.value, ValueError)
    say_all(str(raised.value), parts)
    np.testing.assert_array_equal(session.run({"x": ONES, "y": ONES})["z"], 2 * ONES)  # the session goes on

    arguments = []
    for key, array in inputs.items():
        np.save(tmp_path / f"{key}.npy", array)
        arguments += ["--input", f"{key}={tmp_path / key}.npy"]
    message = complaint("run", model, *arguments)
    assert parts[0] in message


@pytest.mark.parametrize("device", DEVICES)
def test_device(device, model):
    code, parts = DEVICES[device]
    for call in (gantry.Session, gantry.check):
        with pytest.raises(gantry.Error) as raised:
            call(model, device=device)
        assert raised.value.code == code
        say_all(str(raised.value), parts)
    say_all(complaint("run", model, "--random", "--dim", "n=2", "--device", device), parts)
    say_all(complaint("check", model, "--device", device), parts)


def test_no_device(model):
    with pytest.raises(gantry.InvalidArgumentError, match='device "": found no type'):
        gantry.Session(model, device="")


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ({"sesion": {}}, ["/sesion", 'Did you mean "session"?']),
        ({"session": {"threads": 0}}, ["/session/threads", "from 1", "0"]),
        ({"placement": {"prefer": ["CUDA:x"]}}, ["/placement/prefer/0", "CUDA:x"]),
    ],
)
def test_configuration(config, parts, model, tmp_path):
    with pytest.raises(gantry.InvalidArgumentError) as raised:
        gantry.Session(model, config=config)
    say_all(str(raised.value), parts)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    say_all(complaint("run", model, "--random", "--dim", "n=2", "--config", file), parts)
