# SPDX-License-Identifier: Apache-2.0
"""Manifests and libraries that are wrong: a row in the report that says so, the other providers as before, nothing half registered."""

import json
import os
import pathlib
import subprocess

import pytest
from broken_models import add_model
from command_line import BINARY, GOOD, NO, complaint, facts, gantry

from gantry import _core

MANIFEST = {
    "manifest_version": 1,
    "name": "broken",
    "vendor": "the tests",
    "version": "1.0.0",
    "library": "libbroken.so",
    "abi": {"major": 1, "minor": 0},
    "devices": ["BROKEN"],
}


def manifest(**changes):
    return json.dumps({key: text for key, text in {**MANIFEST, **changes}.items() if text is not None})


# Name -> (manifest, library's bytes or None, stage, what the message must say).
CANDIDATES = {
    "malformed": ('{"manifest_version": 1,\n "name": }', None, "parsed", [":2:10: not valid JSON"]),
    "no object": ("[]", None, "parsed", ["object", "array"]),
    "no name": (manifest(name=None), None, "parsed", ["name"]),
    "wrong type": (manifest(devices="BROKEN"), None, "parsed", ["/devices", "array"]),
    "wrong device": (manifest(devices=["BRO KEN"]), None, "parsed", ["/devices/0", "BRO KEN"]),
    "points nowhere": (manifest(), None, "file checks", ["libbroken.so", "No such file"]),
    "no library": (manifest(), b"this is text", "file checks", ["libbroken.so"]),
}


@pytest.fixture(name="model")
def save_model(tmp_path):
    file = tmp_path / "add.onnx"
    file.write_bytes(add_model().SerializeToString())
    return file


def add_candidate(folder, text, library):
    folder.mkdir()
    (folder / "broken.json").write_text(text)
    if library is not None:
        (folder / "libbroken.so").write_bytes(library)
    return {"GANTRY_ADD_PROVIDER_FILES": str(folder / "broken.json")}


def rows_of(report):
    return report["providers"] if isinstance(report, dict) else report


@pytest.mark.parametrize("name", CANDIDATES)
def test_broken_candidate(name, model, tmp_path):
    text, library, stage, parts = CANDIDATES[name]
    env = add_candidate(tmp_path / "providers.d", text, library)
    rows = [row for row in rows_of(facts("doctor", status=NO, env=env)) if row["manifest"].endswith("broken.json")]
    assert len(rows) == 1
    assert rows[0]["state"] == "rejected"
    assert rows[0]["stage"] == stage, rows[0]
    assert "\n" not in rows[0]["message"]
    for part in ["broken", *parts]:
        assert part in rows[0]["message"], f"{part!r} is not in {rows[0]['message']!r}"
    assert rows[0]["hint"]

    facts("run", model, "--random", "--dim", "n=2", env=env)  # the others are as before
    assert "BROKEN" in complaint("run", model, "--random", "--dim", "n=2", "--device", "BROKEN", env=env)


def test_library_that_is_no_provider(model, tmp_path):
    env = add_candidate(tmp_path / "providers.d", manifest(), pathlib.Path(_core.__file__).read_bytes())
    (row,) = [row for row in rows_of(facts("doctor", status=NO, env=env)) if row["name"] == "broken"]
    assert row["state"] == "rejected"
    for part in ("libbroken.so", "expected a provider library", "GANTRY_PROVIDER_NOTE"):
        assert part in row["message"]
    assert "BROKEN" in complaint("run", model, "--random", "--dim", "n=2", "--device", "BROKEN", env=env)


def test_the_working_directory_is_not_searched(tmp_path):
    for folder in (tmp_path, tmp_path / "providers.d", tmp_path / "gantry" / "providers.d"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "broken.json").write_text(manifest())
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([BINARY, "doctor", "--json"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert not [row["manifest"] for row in json.loads(done.stdout)["providers"] if row["manifest"].endswith("broken.json")]


def test_doctor_tells_what_became_of_variables(tmp_path):
    env = {"GANTRY_STRICT": "yes", "GANTRY_PROVIDERS_DISABLE": "sim", "GANTRY_LOADER_REPORT": str(tmp_path / "report.json"),
           "GANTRY_ISOLATION": "sim=thread"}
    report = facts("doctor", env=env)
    variables = {row["name"]: row for row in report["environment"]}
    assert variables["GANTRY_STRICT"]["state"] == "ignored"
    assert "0 or 1" in variables["GANTRY_STRICT"]["reason"]
    assert variables["GANTRY_ISOLATION"]["state"] == "ignored"
    assert "found sim=thread" in variables["GANTRY_ISOLATION"]["reason"]
    assert variables["GANTRY_PROVIDERS_DISABLE"] == {"name": "GANTRY_PROVIDERS_DISABLE", "value": "sim", "state": "used", "reason": ""}
    assert variables["GANTRY_PROVIDER_FILES"]["state"] == "not set"
    (sim,) = [row for row in report["providers"] if row["name"] == "sim"]
    assert (sim["state"], sim["stage"]) == ("rejected", "policy")
    assert not report["elevated"] and not report["strict"]
    written = json.loads((tmp_path / "report.json").read_text())
    assert [row["state"] for row in written["providers"]] == [row["state"] for row in report["providers"]]


@pytest.mark.parametrize(("name", "value", "words"), [
    ("GANTRY_ISOLATION", "cpu", ["is ignored", "NAME=process"]),
    ("GANTRY_ISOLATION", "all,off", ["is ignored", "NAME=process"]),
    ("GANTRY_ISOLATION", "cpx=process", ['no provider of the name "cpx"', 'Did you mean "cpu"?']),
    ("GANTRY_STRICT", "yes", ["is ignored", "0 or 1"]),
    ("GANTRY_PROBE_CACHE", "here", ["is ignored", "an absolute path, or off"]),
    ("GANTRY_LOADER_LOG", "wrning", ["is ignored", '"wrning"']),
    ("GANTRY_PROVIDER_DISABLE", "cpu", ["is ignored", "no such variable. Did you mean GANTRY_PROVIDERS_DISABLE?"]),
    ("GANTRY_LOGLEVEL", "info", ["is ignored", "Did you mean GANTRY_LOG?"]),
    ("GANTRY_LOADER_REPORT", "/none/report.json", ["/none/report.json: the report cannot be written there: No such file or directory"]),
])
def test_a_slip_in_a_variable_is_warned_of(name, value, words):
    _, error = gantry("devices", env={name: value})
    assert error.startswith("gantry warning: " + name) and error.count("\n") == 1, error
    assert [word for word in words if word not in error] == [], error


@pytest.mark.parametrize("name", ["GANTRY_PROVIDER_FILES", "GANTRY_ADD_PROVIDER_FILES"])
def test_manifests_that_are_not_there_are_warned_of(name, tmp_path):
    _, error = gantry("devices", status=GOOD if "ADD" in name else NO, env={name: str(tmp_path / "vendor.json")})
    assert error == f"gantry warning: {tmp_path}/vendor.json: {name} names it and it is not there: No such file or directory\n"


def test_a_report_over_a_folder_is_told_of_once(tmp_path):
    _, error = gantry("devices", env={"GANTRY_LOADER_REPORT": str(tmp_path)})
    assert error == f"gantry warning: GANTRY_LOADER_REPORT: {tmp_path}: the report cannot be written there: Is a directory\n"
    assert not list(tmp_path.parent.glob(tmp_path.name + ".*"))  # nor is a draft left behind


def test_variables_that_are_right_are_no_news():
    env = {"GANTRY_ISOLATION": "sim=process,cpu=none", "GANTRY_STRICT": "0", "GANTRY_PROBE_CACHE": "off", "GANTRY_BUILD_HOST": "of somebody else"}
    assert gantry("devices", env=env)[1] == ""


def test_a_provider_that_others_may_write_is_broken(tmp_path):
    folder = tmp_path / "providers.d"
    env = add_candidate(folder, manifest(), b"")
    (folder / "libbroken.so").chmod(0o666)
    (row,) = [row for row in rows_of(facts("doctor", status=NO, env=env)) if row["name"] == "broken"]
    assert row["code"] == "UNAVAILABLE"
    assert f"{folder / 'libbroken.so'}: expected that only its owner may write it" in row["message"]
