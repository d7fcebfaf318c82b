# SPDX-License-Identifier: Apache-2.0
"""Configurations from Python: a dict, JSON text or a path; errors say where."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from broken_models import add_model

import gantry

PREFER_SIM = {"placement": {"prefer": ["SIM:1"]}}


def device_of(config):
    (node,) = gantry.Session(add_model(), config=config).placement.nodes
    return node.device


def test_dict_text_and_path(tmp_path):
    file = tmp_path / "c.json"
    file.write_text(json.dumps(PREFER_SIM))
    for config in (PREFER_SIM, json.dumps(PREFER_SIM), "\n " + json.dumps(PREFER_SIM, indent=1), "\ufeff" + json.dumps(PREFER_SIM), file, str(file)):
        assert device_of(config) == "SIM:1"
    assert device_of(None) == device_of({}) == "CPU:0"
    (node,) = gantry.check(add_model(), config=file).nodes
    assert node.device == "SIM:1"


def test_dicts_of_all_kinds_are_read_as_json_would():
    class Name(str):
        pass

    for name, value in (("threads", 2), ("threads", True), ("optimization", "none"), ("optimization", Name("none")), ("optimization", "n\u00f6\"\\\n\ud800"),
                        ("memory_limit_bytes", 1e300), ("memory_limit_bytes", -5), ("disable_passes", ["cse", ("x",)]), ("capture", None),
                        ("threads", float("inf"))):
        found = []
        for config in ({"session": {name: value}}, json.dumps({"session": {name: value}})):
            try:
                found.append(device_of(config))
            except gantry.Error as error:
                found.append(re.sub(r"^(config|configuration \(session\))(:\d+:\d+)?: ", "", str(error), flags=re.MULTILINE))
        assert found[0] == found[1], (name, value)
    with pytest.raises(gantry.InvalidArgumentError, match="cannot be written as JSON"):
        device_of({"session": {"threads": {1, 2}}})


def test_a_dict_does_not_bring_pythons_json(tmp_path):
    code = "import sys, gantry; gantry.Session(sys.argv[1], config={'session': {'threads': 1, 'memory_limit_bytes': 10**9}}); assert 'json' not in sys.modules"
    path = tmp_path / "m.onnx"
    path.write_bytes(add_model().SerializeToString())
    subprocess.run([sys.executable, "-c", code, path], check=True, timeout=60)


def test_what_is_named_in_the_call_wins():
    session = gantry.Session(add_model(), device="CPU", config=PREFER_SIM)
    assert [node.device for node in session.placement.nodes] == ["CPU:0"]


def test_errors_of_a_dict_have_the_pointer():
    with pytest.raises(gantry.InvalidArgumentError) as raised:
        gantry.Session(add_model(), config={"session": {"thread": 2}, "placement": {"fallback": "maybe"}})
    lines = str(raised.value).splitlines()
    assert len(lines) == 2
    assert any(line.startswith("configuration (session): /session/thread: unknown member") and
               line.endswith('Did you mean "threads"?') for line in lines)
    assert any(line.startswith("configuration (session): /placement/fallback: expected one of") for line in lines)


def test_errors_of_text_and_files_have_lines(tmp_path):
    text = '{\n  "session": {"threads": 0}\n}'
    with pytest.raises(gantry.InvalidArgumentError, match="^config:2:26: /session/threads: expected an integer from 1 to 1024"):
        gantry.Session(add_model(), config=text)
    file = tmp_path / "c.json"
    file.write_text(text)
    for path in (file, os.fspath(file)):
        with pytest.raises(gantry.InvalidArgumentError) as raised:
            gantry.check(add_model(), config=path)
        assert str(raised.value).startswith(f"{file}:2:26: /session/threads: ")


def test_no_configuration(tmp_path):
    for wrong, part in ((5, "expected a dict, JSON text or the path"), ([], "found"), ({"session": {1, 2}}, "cannot be written as JSON")):
        with pytest.raises(gantry.InvalidArgumentError, match=f"^config: .*{part}"):
            gantry.Session(add_model(), config=wrong)
    for missing in (tmp_path / "gone.json", "threads=2", pathlib.Path(tmp_path)):
        with pytest.raises(gantry.NotFoundError, match="cannot be opened; expected a dict, JSON text"):
            gantry.Session(add_model(), config=missing)


def test_devices_of_a_configuration():
    types = {device.type for device in gantry.devices(config={"providers": {"disable": ["sim"]}})}
    assert "CPU" in types and "SIM" not in types
    assert "SIM" in {device.type for device in gantry.devices()}
    with pytest.raises(gantry.InvalidArgumentError, match=r"/providers/disabel: .*Did you mean \"disable\"\?"):
        gantry.devices(config={"providers": {"disabel": ["sim"]}})


def test_a_placement_tells_of_rules_that_meet_no_node():
    placement = gantry.check(add_model(), config={"placement": {"rules": [{"op_type": "Ad", "device": "SIM:1"}]}})
    (warning,) = placement.warnings
    assert warning.startswith('configuration (session): /placement/rules/0/op_type: no node of the model has the operator "Ad"')


def test_providers_of_one_session(tmp_path):
    """Members for the runtime give the session one of its own; that of the process stays as it is."""
    without = {"providers": {"disable": ["sim"]}, "placement": {"prefer": ["SIM:0", "CPU"], "fallback": "allow"}}
    file = tmp_path / "c.json"
    file.write_text(json.dumps(without))
    for config in (without, json.dumps(without), file):
        assert device_of(config) == "CPU:0"
        (node,) = gantry.check(add_model(), config=config).nodes
        assert node.device == "CPU:0"
    with pytest.raises(gantry.Error, match="SIM"):
        gantry.Session(add_model(), device="SIM:1", config=without)
    assert device_of(PREFER_SIM) == "SIM:1"


def test_isolation_by_code():
    """The provider runs in a process of its own, whose end the session's runs report and others do not notice."""
    session = gantry.Session(add_model(), config=PREFER_SIM | {"providers": {"isolation": {"sim": "process"}}})
    children = [int(pid) for pid in pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    workers = [pid for pid in children if b"gantry-worker" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(workers) == 1
    feeds = {info.name: np.ones([2 if not isinstance(n, int) else n for n in info.shape], info.dtype) for info in session.inputs}
    (y,) = session.run(feeds).values()
    np.testing.assert_array_equal(y, 2)
    del session
    assert device_of(PREFER_SIM) == "SIM:1"


def test_options_that_providers_are_opened_with():
    config = PREFER_SIM | {"placement": {"prefer": ["SIM:5"]}, "providers": {"options": {"sim": {"devices": 6}}, "isolation": {"sim": "process"}}}
    assert device_of(config) == "SIM:5"


def test_errors_of_members_for_the_runtime(tmp_path):
    text = '{\n  "providers": {"disabel": ["sim"], "isolation": {"sim": "thread"}}\n}'
    file = tmp_path / "c.json"
    file.write_text(text)
    for config, start in ((text, "config:2:17: "), (file, f"{file}:2:17: "), (json.loads(text), "configuration (runtime): ")):
        for make in (gantry.Session, gantry.check):
            with pytest.raises(gantry.InvalidArgumentError) as raised:
                make(add_model(), config=config)
            first, second = sorted(str(raised.value).splitlines(), key=lambda line: "isolation" in line)
            assert first.startswith(f"{start}/providers/disabel: unknown member") and first.endswith('Did you mean "disable"?')
            assert "/providers/isolation/sim: expected one of" in second
