# SPDX-License-Identifier: Apache-2.0
"""A process with raised privileges: what its user says of providers does not count, and the report says so."""

import json
import os
import shutil
import subprocess

import pytest
from command_line import BINARY

NOBODY = 65534


@pytest.fixture(name="elevated")
def setuid_copy(tmp_path):
    """A function that runs `gantry` as another user, from a copy that is setuid root."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a file that runs as root")
    for folder in (tmp_path, *list(tmp_path.parents)[:-1]):
        if folder.stat().st_mode & 0o001 == 0 and folder.owner() == "root":
            folder.chmod(folder.stat().st_mode | 0o011)
    copy = tmp_path / "gantry"
    shutil.copy(BINARY, copy)
    copy.chmod(0o4755)

    def run(*arguments, env):
        result = subprocess.run([copy, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                                user=NOBODY, group=NOBODY, extra_groups=[], cwd="/",
                                env={"PATH": os.environ["PATH"], **env}, check=False)
        return result

    report = run("doctor", "--json", env={})
    if report.returncode not in (0, 1) or not json.loads(report.stdout)["elevated"]:
        pytest.skip(f"programs are not raised here: {report.stderr}")
    return run


def test_variables_of_an_elevated_process(elevated, tmp_path):
    folder = tmp_path / "providers.d"
    folder.mkdir()
    (folder / "evil.json").write_text("{}")
    files = {"GANTRY_LOADER_REPORT": "report.json", "GANTRY_LOADER_LOG": "debug,file=log.txt", "GANTRY_ARTEFACT_CACHE": "cache", "GANTRY_PROBE_CACHE": "probes"}
    env = {name: str(tmp_path / value) if "=" not in value else value.replace("=", f"={tmp_path}/") for name, value in files.items()}
    env |= {name: str(folder) for name in ("GANTRY_PROVIDER_FILES", "GANTRY_ADD_PROVIDER_FILES", "XDG_DATA_DIRS")}
    env |= {name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
    env |= {"GANTRY_CONFIG": str(folder / "evil.json"), "GANTRY_STRICT": "1", "GANTRY_ISOLATION": "all", "GANTRY_PROVIDERS_DISABLE": "cpu",
            "GANTRY_PROVIDERS_SELECT": "none"}
    report = json.loads(elevated("doctor", "--json", env=env).stdout)
    assert report["elevated"]
    assert not any(row["name"] == "evil.json" for row in report["providers"])
    assert any(row["name"] == "cpu" and row["state"] == "ready" for row in report["providers"])
    variables = {row["name"]: row for row in report["environment"]}
    for name, value in env.items():
        assert variables[name]["value"] == value
        assert variables[name]["state"] == "ignored"
        assert "raised privileges" in variables[name]["reason"]
    assert set(env) == {name for name in variables if name in env} and not report["strict"]
    assert report["artefact_cache"]["folder"] == ""
    assert not any(row["isolation"] for row in report["providers"])
    assert {file.name for file in tmp_path.iterdir()} == {"providers.d", "gantry"}  # "gantry" is the program
