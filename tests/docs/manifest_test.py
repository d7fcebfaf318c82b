# SPDX-License-Identifier: Apache-2.0
"""docs/MANIFEST.md against the reader of manifests and the loader: members, variables, what the bundled manifests say of themselves."""

import json
import pathlib
import re

import pytest
from command_line import BINARY, facts

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "MANIFEST.md").read_text(encoding="utf-8")
BUNDLED = sorted([*(ROOT / "providers").glob("*/*.json"), *(ROOT / "interop").glob("*/*/*.json")])


def first_cells(heading):
    """Names in the first column of the table under a heading."""
    table = PAGE[PAGE.index(f"| {heading} |"):].split("\n\n")[0]
    return {name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])}


def warnings_of(manifest, folder):
    file = folder / "acme.json"
    file.write_text(json.dumps(manifest))
    (row,) = [row for row in facts("doctor", status=1, env={"GANTRY_ADD_PROVIDER_FILES": str(file)})["providers"] if row["manifest"] == str(file)]
    assert row["stage"] == "file checks", row  # it was read to its end, and has no library
    return row["warnings"]


def test_members(tmp_path):
    described = first_cells("member")
    known = (ROOT / "core" / "plugin" / "discovery" / "manifest.cc").read_text(encoding="utf-8")
    known = set(re.findall(r'"(\w+)"', known[known.index("kMembers = {"):].split("};")[0]))
    assert described == known
    example = json.loads(re.search(r"^```json\n(.*?)^```", PAGE, re.M | re.S)[1])
    example.update(sha256="0" * 64, threads="own", unload="tested", critical=["abi"], probe={"mode": "never", "timeout_ms": 5}, device_files=["/dev/acme*"], parts=["more.so"], former_names=["old-acme"], widens=["float16"], stand_in=True, survives_fork=True,
                   operators=[{"domain": "com.acme", "op_type": "Split", "outputs": [{"like": 0}]}],
                   variants=[{"library": "fast.so", "sha256": "0" * 64, "requires": {"cpu_features": []}}])
    example["requires"] = {"libraries": [], "cpu_features": []}
    assert set(example) == described
    assert warnings_of(example, tmp_path) == []
    (warning,) = warnings_of({**example, "libary": "x"}, tmp_path)
    assert "/libary: unknown member" in warning


def test_variables():
    """The report names every variable that the page describes, and no other."""
    report = {row["name"] for row in facts("doctor", env={})["environment"]}
    assert report == first_cells("variable")


@pytest.mark.parametrize("file", BUNDLED, ids=lambda file: file.stem)
def test_options_are_described(file):
    """For editors, which get them from `gantry config schema`."""
    def check(schema, pointer):
        for name, part in schema.get("properties", {}).items():
            assert part.get("description"), f"{pointer}/{name}"
            check(part, f"{pointer}/{name}")

    check(json.loads(file.read_text(encoding="utf-8"))["options"], "")


def test_there_are_bundled_ones():
    assert {file.stem for file in BUNDLED} >= {"cpu", "cuda", "x86", "sim", "ort_custom_ops"} and BINARY.exists()
