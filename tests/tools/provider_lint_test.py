# SPDX-License-Identifier: Apache-2.0
"""`gantry provider lint` as a user calls it; what each rule finds is tested in tests/plugins/lint_test.cc."""

import json
import os
import pathlib
import shutil

import pytest
from command_line import NO, complaint, facts, gantry

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GANTRY_BINARY", ROOT / "build" / "release" / "bin" / "gantry")).parents[1]
PROVIDERS = BUILD / "lib" / "gantry" / "providers.d"


def manifest(folder, fake, **members):
    shutil.copy(BUILD / "tests" / "lint_fakes" / f"{fake}.so", folder)
    file = folder / "acme.json"
    file.write_text(json.dumps({"manifest_version": 1, "name": "acme", "version": "0.1.0", "library": f"{fake}.so", "devices": ["FAKE"],
                                "abi": {"major": 1, "minor": 0}, **members}), encoding="utf-8")
    return file


@pytest.mark.parametrize(("name", "libraries"), [("cpu", ["libgantry_cpu.so", "libgantry_cpu_media.so"]), ("sim", ["libgantry_sim.so"])])
def test_the_bundled_providers_pass(name, libraries):
    found = facts("provider", "lint", PROVIDERS / f"{name}.json")
    assert found["good"] and len(found["rules"]) == 11 and found["files"] == [str(PROVIDERS / library) for library in libraries]
    assert all(finding["waiver"] for finding in found["findings"])


def test_a_library_in_the_place_of_its_manifest():
    (finding,) = facts("provider", "lint", PROVIDERS / "libgantry_sim.so", status=NO)["findings"]
    assert finding["rule"] == "manifest" and "expected a manifest, found a library; name the JSON file" in finding["what"]


def test_a_finding_says_what_why_and_how(tmp_path):
    file = manifest(tmp_path, "exports")
    found = facts("provider", "lint", file, status=NO)
    assert not found["good"] and [finding["rule"] for finding in found["findings"]] == ["exports"]
    finding = found["findings"][0]
    assert finding["file"] == str(tmp_path / "exports.so") and "lint_fake_other_export" in finding["what"]
    assert finding["reason"] and finding["remedy"] and not finding["waiver"]
    output, _ = gantry("provider", "lint", file, status=NO)
    assert finding["what"] in output and f"why it matters: {finding['reason']}" in output and f"what to do: {finding['remedy']}" in output
    assert output.endswith(f"{file}: 1 finding, 11 rules, 1 library\n")


def test_the_manifests_reason_is_shown_and_does_not_count(tmp_path):
    file = manifest(tmp_path, "static_initialisers", **{"x-lint": {"static-initialisers": "the driver needs it"}})
    output, _ = gantry("provider", "lint", file)
    assert "allowed by the manifest: the driver needs it" in output and ": 0 findings" in output


def test_the_oldest_c_library_can_be_chosen(tmp_path):
    file = manifest(tmp_path, "c_library")
    assert facts("provider", "lint", file)["good"]
    found = facts("provider", "lint", file, "--oldest-libc", "2.28", status=NO)
    assert [finding["rule"] for finding in found["findings"]] == ["c-library"]
    assert "expected a version as 2.36" in complaint("provider", "lint", file, "--oldest-libc", "new")


def test_a_manifest_that_is_none(tmp_path):
    for file, reason in ((tmp_path / "none.json", "No such file or directory"), (tmp_path, "Is a directory")):
        output, _ = gantry("provider", "lint", file, status=NO)
        assert output.startswith(f"manifest: {file}: the manifest cannot be read: {reason}\n"), output
