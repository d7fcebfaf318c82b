# SPDX-License-Identifier: Apache-2.0
"""`gantry provider test`: the bundled providers and a good fake pass; for each rule, one that breaks it fails the check of that rule."""

import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import numpy
import onnx
import pytest
from command_line import ERROR, NO, USAGE, complaint, facts, gantry
from onnx import TensorProto, helper, numpy_helper
from sanitizer import plain_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GANTRY_BINARY", ROOT / "build" / "release" / "bin" / "gantry")).parents[1]
PROVIDERS = BUILD / "lib" / "gantry" / "providers.d"
FAKES = BUILD / "tests" / "fakes"

# What duties_provider.cc breaks, the check that has to notice, what becomes of it, and a part of what it says.
BREACHES = {
    "throws": ("load.negotiates", "failed", "thrown through the boundary"),
    "other-version": ("load.negotiates", "failed", "found one absent or null"),
    "crash": ("load.negotiates", "crashed", "signal 6"),
    "layout": ("load.refuses-another-layout", "failed", "expected ABI_MISMATCH"),
    "sizes": ("load.speaks-to-newer-hosts", "failed", "another size of gantry_host"),
    "minor": ("load.speaks-to-newer-hosts", "failed", "expected at most 0"),
    "later-slot": ("load.speaks-to-older-hosts", "crashed", "signal 11"),
    "equal-size": ("load.takes-larger-structs", "failed", "another size"),
    "truncated": ("load.survives-truncated-offers", "crashed", "signal 11"),
    "request": ("load.survives-truncated-calls", "crashed", "signal 11"),
    "leak": ("load.leaves-nothing", "failed", "100 bytes still held"),
    "nameless": ("devices.are-described", "failed", "expected a name for DUTY:0"),
    "reasonless": ("devices.are-described", "failed", "expected a reason why DUTY:1 is not ready"),
    "alignment": ("memory.is-allocated", "failed", "aligned to 64 bytes"),
    "limit": ("memory.too-much-is-refused", "failed", "found INTERNAL: the device has 4 GiB"),
    "pitch": ("copies.have-rows", "failed", "nothing between them"),
    "order": ("streams.keep-the-order", "failed", "a later copy before an earlier one"),
    "wait": ("events.wait-across-streams", "failed", "older bytes in round 1"),
    "completion": ("events.tell-completion", "failed", "found that it is not"),
    "peers": ("copies.go-between-devices", "failed", "found others in round 1"),
    "null": ("destroy.accepts-null", "crashed", "signal 11"),
    "repeatable": ("claims.are-repeatable", "failed", "found another one"),
    "kept": ("claims.change-nothing", "failed", "found 400 bytes"),
    "silent": ("claims.answer-each-node", "failed", "found neither"),
    "domain": ("claims.answer-unknown-operators", "failed", "com.example::Relu"),
    "hostile": ("hostile.without-inputs", "crashed", "without inputs"),
    "threads": ("threads.run", "failed", "on 8 threads"),
    "refused-output": ("faults.no-memory-for-outputs", "crashed", "signal 6"),
    "error-kept": ("faults.no-memory-for-outputs", "failed", "1 kept"),
    "blob-changes": ("blobs.come-back", "failed", "found another one"),
    "blob-damaged": ("blobs.damaged", "failed", "found another result"),
    "blob-refused": ("blobs.damaged", "failed", "this blob is none"),
    "blob-of-another": ("blobs.of-others", "failed", "found another result"),
    "stop": ("faults.stopped-runs", "failed", "found INTERNAL: stopped"),
    "set": ("chain.Relu-Relu", "failed", "elements differ"),
    "strides": ("chain.Relu-Relu", "failed", "elements differ"),
    "numerics": ("random.Relu/float32", "failed", "elements differ"),
    "again": ("load.can-be-made-again", "failed", "it was made before"),
    "trace": ("load.works-without-optional-slots", "failed", "without trace and fragment slots"),
    "restless": ("devices.are-the-same-again", "failed", "found another one"),
    "reopen": ("devices.open-and-close", "failed", "it was opened before"),
    "lossy": ("copies.come-back", "failed", "unchanged, found others"),
    "object": ("claims.do-not-depend-on-the-object", "failed", "that was made again"),
    "cycle": ("claims.leave-no-cycle", "failed", "the graph would have a cycle"),
    "claim-alone": ("threads.claim", "failed", "that one thread gets"),
    "compile-alone": ("threads.compile", "failed", "compile is busy"),
    "scratch": ("faults.no-scratch-memory", "failed", "found INTERNAL: something went wrong"),
    "allocation": ("faults.no-host-memory", "crashed", "signal 11"),
    "input-written": ("runs.leave-inputs-alone", "failed", "to be as they were"),
    "late": ("runs.end-with-their-call", "crashed", "whose memory is closed"),
    "capture-runs": ("captures.only-record", "failed", "while it was recorded"),
    "capture-once": ("captures.run-as-often-as-launched", "failed", "launch 2"),
    **{f"hostile-{name}": (f"hostile.{name}", "crashed", "signal 6") for name in (
        "without-inputs", "without-outputs", "absent-inputs", "many-slots", "unknown-shapes", "scalars", "unknown-types", "huge-extents", "empty-extents",
        "wrong-constants", "wrong-attributes", "other-versions", "strange-graphs")},
}


def examine(manifest, *arguments, status=0):
    return facts("provider", "test", manifest, *arguments, status=status)


def by_name(report):
    return {check["name"]: check for check in report["checks"]}


def bad(report):
    return {check["name"]: check["message"] for check in report["checks"] if check["status"] not in ("passed", "skipped")}


@pytest.mark.parametrize(("name", "operator", "computed"), [("cpu", "Relu", 300), ("sim", "Relu", 5), ("x86", "Conv.5", 10)])
def test_the_bundled_providers_pass(name, operator, computed):
    report = examine(PROVIDERS / f"{name}.json")
    assert bad(report) == {} and report["good"] and report["level_reached"] == 5
    checks = by_name(report)
    assert checks[f"random.{operator}/float32"]["status"] == checks["threads.run"]["status"] == "passed"
    assert sum(check["status"] == "passed" and check["level"] == 4 for check in report["checks"]) >= computed
    assert checks["copies.have-rows"]["status"] == ("passed" if name == "sim" else "skipped")


@pytest.fixture(name="onnx_cases", scope="module")
def fixture_onnx_cases(tmp_path_factory):
    """All of ONNX's node cases, as a vendor writes them."""
    folder = tmp_path_factory.mktemp("cases")
    subprocess.run([sys.executable, ROOT / "plugin_sdk" / "tools" / "node_cases", folder], check=True, env=plain_environment(), stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    return folder


# Of these cases x86 takes few: their weights are inputs of the run, and their pools have three channels or less in dense order, for which the
# library has reference code only (decision 71): those are cpu's.
@pytest.mark.parametrize(("name", "computed"), [("cpu", 1800), ("sim", 30), ("x86", 7)])
def test_the_bundled_providers_compute_onnx_cases(onnx_cases, name, computed):
    report = examine(PROVIDERS / f"{name}.json", "--cases", onnx_cases, "--only", "case.*")
    assert bad(report) == {} and report["passed"] >= computed and report["passed"] + report["skipped"] > 1850


@pytest.mark.parametrize(("name", "operator"), [("cpu", "Relu"), ("sim", "Relu"), ("x86", "Conv.5")])
def test_the_bundled_providers_pass_isolated(name, operator):
    report = examine(PROVIDERS / f"{name}.json", "--isolated", "--only", "random.*")
    assert bad(report) == {}
    assert by_name(report)[f"random.{operator}/float32"]["status"] == "passed"
    report = examine(FAKES / "duties.json", "--isolated", "--options", '{"breaks": "numerics"}', "--only", "random.Relu/float32", status=NO)
    assert "elements differ" in by_name(report)["random.Relu/float32"]["message"]


def test_a_provider_that_keeps_every_rule_passes():
    report = examine(FAKES / "duties.json")
    assert bad(report) == {} and report["level_reached"] == 5
    skipped = {check["name"] for check in report["checks"] if check["status"] == "skipped" and check["level"] != 4}
    assert skipped == {"runs.end-with-their-call"}  # its device's memory cannot be closed from outside


@pytest.mark.parametrize("rule", BREACHES)
def test_a_broken_rule_is_found(rule):
    check, status, words = BREACHES[rule]
    report = examine(FAKES / "duties.json", "--options", json.dumps({"breaks": rule}), "--only", check, status=NO)
    found = by_name(report)[check]
    assert found["status"] == status and words in found["message"], found
    assert found["remedy"] and found["duty"] in (ROOT / "docs" / "ABI.md").read_text(encoding="utf-8")


def test_every_check_names_a_duty_that_is_described():
    duties = (ROOT / "docs" / "ABI.md").read_text(encoding="utf-8")
    for check in examine(FAKES / "duties.json", "--level", "3")["checks"]:
        assert f"| {check['duty']} |" in duties, check


def test_every_check_was_seen_to_fail():
    """A check that no provider has failed may be one that none can fail."""
    names = {check["name"] for check in examine(FAKES / "duties.json")["checks"] if check["level"] != 4}
    found = {check for check, _, _ in BREACHES.values()} | {check for mark in test_fakes_fail_the_check_of_what_they_break.pytestmark for _, check, _ in mark.args[1]}
    assert names - found == set()


def test_a_hang_is_ended():
    report = examine(FAKES / "duties.json", "--options", '{"breaks": "hang"}', "--only", "load.negotiates", "--timeout", "1", status=NO)
    assert by_name(report)["load.negotiates"]["status"] == "timed out"


def test_a_crash_does_not_stop_the_other_checks():
    report = examine(FAKES / "duties.json", "--options", '{"breaks": "hostile"}', "--level", "3", status=NO)
    checks = by_name(report)
    assert checks["hostile.without-inputs"]["status"] == "crashed" and checks["hostile.scalars"]["status"] == "passed"
    assert report["level_reached"] == 2


def fake_manifest(folder, fake):
    (folder / f"{fake}.so").write_bytes((FAKES / f"{fake}.so").read_bytes())
    file = folder / f"{fake}.json"
    file.write_text(json.dumps({"manifest_version": 1, "name": fake, "version": "0.1.0", "library": f"{fake}.so", "devices": ["FAKE"],
                                "abi": {"major": 1, "minor": 0}}), encoding="utf-8")
    return file


@pytest.mark.parametrize(("fake", "check", "status"), [
    ("no_note", "load.manifest-and-library", "failed"),
    ("no_symbol", "load.manifest-and-library", "failed"),
    ("undefined_symbol", "load.manifest-and-library", "failed"),
    ("crash_init", "load.manifest-and-library", "crashed"),
    ("crash_entry", "load.negotiates", "crashed"),
    ("short_table", "load.negotiates", "failed"),
    ("null_table", "load.negotiates", "failed"),
    ("layout_lies", "load.negotiates", "failed"),
    ("newer_minor", "load.negotiates", "failed"),
    ("crash_exit", "process.ends-well", "crashed"),
    ("thread_alive", "load.leaves-nothing", "failed"),
    ("leaks", "load.leaves-nothing", "failed"),
    ("foreign_type", "devices.are-described", "failed"),
    ("same_id_twice", "devices.are-described", "failed"),
    ("throws_later", "devices.are-described", "failed"),
])
def test_fakes_fail_the_check_of_what_they_break(tmp_path, fake, check, status):
    name = "load.manifest-and-library" if check.startswith("process") else check
    report = examine(fake_manifest(tmp_path, fake), "--only", name, status=NO)
    assert by_name(report)[check]["status"] == status, report["checks"]


def test_what_was_said_is_not_said_again(tmp_path):
    file = fake_manifest(tmp_path, "no_symbol")
    output, _ = gantry("provider", "test", file, status=NO)
    assert output.count("expected the export gantry_provider_v1, found none") == output.count("what to do: ") == 1
    assert "failed    1 load.negotiates [P3]: as load.manifest-and-library\n" in output
    (wrong,) = {check["message"] for check in examine(file, "--level", "1", status=NO)["checks"]}
    assert "found none" in wrong  # a report has it with each


def test_no_device_is_skipped_and_said(tmp_path):
    report = examine(fake_manifest(tmp_path, "absent_device"), "--only", "copies.*", "--only", "random.Relu/*")
    assert {check["status"] for check in report["checks"]} == {"skipped"}
    assert all("the fake cable is not plugged in" in check["message"] for check in report["checks"])
    assert report["level_reached"] == 0


def node_case(folder, shift):
    """A folder as ONNX's node cases have it, its expected values off by `shift`."""
    x = numpy.array([-1, 2, 3], dtype=numpy.float32)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])])
    values = folder / "test_data_set_0"
    values.mkdir(parents=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "model.onnx")
    for name, value in (("input_0", x), ("output_0", numpy.maximum(x, 0) + numpy.float32(shift))):
        (values / f"{name}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())


def test_node_cases_are_run_and_compared(tmp_path):
    node_case(tmp_path / "test_right", 0)
    node_case(tmp_path / "test_wrong", 0.25)
    report = examine(FAKES / "duties.json", "--cases", tmp_path, "--only", "case.*", status=NO)
    checks = by_name(report)
    assert checks["case.test_right"]["status"] == "passed"
    wrong = checks["case.test_wrong"]
    assert wrong["status"] == "failed" and 'output "y": element 0 is 0, expected 0.25' in wrong["message"]
    assert "3 of 3 elements differ" in wrong["message"] and "float32 may differ by 1e-05 and 0.001 of the value" in wrong["message"]
    assert f"gantry run {tmp_path}/test_wrong/model.onnx --device DUTY:0 --verify {tmp_path}/test_wrong" in wrong["remedy"]
    missing = examine(FAKES / "duties.json", "--cases", tmp_path / "nowhere", "--only", "cases", status=NO)
    assert "expected folders with a model.onnx" in by_name(missing)["cases"]["message"]


def test_onnx_cases_are_written_as_files(onnx_cases):
    checks = by_name(examine(FAKES / "duties.json", "--cases", onnx_cases, "--only", "case.test_relu"))
    assert checks["case.test_relu"]["status"] == "passed"


def test_the_reports_agree(tmp_path):
    file = tmp_path / "report.xml"
    arguments = ["--options", '{"breaks": "pitch"}', "--level", "2"]
    report = examine(FAKES / "duties.json", *arguments, "--junit", file, status=NO)
    cases = list(xml.etree.ElementTree.parse(file).getroot().iter("testcase"))
    assert [case.get("name") for case in cases] == [check["name"] for check in report["checks"]]
    failed = [case for case in cases if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["copies.have-rows"]
    assert by_name(report)["copies.have-rows"]["remedy"] in failed[0].find("failure").text
    output, _ = gantry("provider", "test", FAKES / "duties.json", *arguments, status=NO)
    assert "failed    2 copies.have-rows [P11]: copy of 5 rows" in output
    assert f"{report['passed']} passed, 1 failed, {report['skipped']} skipped; level 1 of 5" in output


def test_usage(tmp_path):
    gantry("provider", "test", FAKES / "duties.json", "--level", "6", status=USAGE)
    report = examine(tmp_path / "nowhere.json", "--only", "load.*", status=NO)
    assert set(bad(report)) >= {"load.manifest-and-library"}


@pytest.mark.parametrize(("arguments", "status", "words"), [
    (["--only", "lod.negotiates"], USAGE, ['found "lod.negotiates"; did you mean "load.negotiates"?']),
    (["--only", "load.*", "--only", "chain.*", "--level", "2"], USAGE, ["a check of level 1 to 2", 'found "chain.*"']),
    (["--options", "breaks"], USAGE, ["--options: expected a JSON object", '"breaks"']),
    (["--options", '{"brakes": "set"}'], ERROR, ["/providers/options/duties/brakes", "breaks"]),
    (["--junit", "/nowhere/report.xml"], ERROR, ["/nowhere/report.xml: the report cannot be written: No such file or directory"]),
    (["--device", "CPU"], USAGE, ["--device: expected a device of the manifest, DUTY", '"CPU"']),
    (["--device", "DUTY:x"], ERROR, ["DUTY:x"]),
])
def test_a_mistake_does_not_look_like_success(arguments, status, words):
    said = complaint("provider", "test", FAKES / "duties.json", *arguments, status=status)
    assert [word for word in words if word not in said] == [], said


def test_a_folder_is_no_manifest(tmp_path):
    assert f"MANIFEST: expected a file, found the folder {tmp_path}" in complaint("provider", "test", tmp_path, status=USAGE)


def test_a_named_device_that_is_not_there_is_a_finding():
    report = examine(FAKES / "duties.json", "--device", "DUTY:7", "--level", "2", status=NO)
    assert set(bad(report)) == {"devices.named-one-is-ready"}
    assert "--device DUTY:7: no device DUTY:7 is ready on this machine: DUTY:0 (ready)" in bad(report)["devices.named-one-is-ready"]
    assert "devices.named-one-is-ready" in by_name(examine(FAKES / "duties.json", "--device", "DUTY:0", "--level", "2"))
