# SPDX-License-Identifier: Apache-2.0
"""plugin_sdk/abi.lock: it is the header's, notices every change, and after 1.0 lets tables and structs grow at their end and nothing else. The step to
1.0 is played in a folder of its own."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest
from command_line import facts
from installed_sdk import ROOT

TOOL = ROOT / "tools" / "abi_lock"
SDK = ROOT / "plugin_sdk"
HEADER = SDK / "include" / "gantry" / "provider.h"
LOCK = SDK / "abi.lock"
REFERENCES = sorted((SDK / "reference").glob("*/*/*.json"))


def abi_lock(*arguments, status=0):
    done = subprocess.run([TOOL, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def changed(folder, old, new):
    """The header with a change."""
    text = HEADER.read_text(encoding="utf-8")
    assert text.count(old) == 1
    (folder / "provider.h").write_text(text.replace(old, new), encoding="utf-8")
    return folder / "provider.h"


def declared(folder):
    """A folder with the lock as it would stand after 1.0 was declared today, without the archive."""
    text = LOCK.read_text(encoding="utf-8")
    (folder / "abi.lock").write_text(text.replace("state experimental", "state locked"), encoding="utf-8")
    return folder


def test_the_lock_is_the_headers():
    abi_lock("--check")


def test_the_lock_has_every_name_of_the_header():
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.S)
    lock = LOCK.read_text(encoding="utf-8")
    names = set(re.findall(r"^ +(GANTRY_[A-Z0-9_]+)(?= ?=)", text, re.M)) | set(re.findall(r"\} (gantry_\w+);", text))
    assert len(names) > 100
    assert [name for name in sorted(names) if not re.search(rf"^(enumerator|enum|struct) {name} ", lock, re.M)] == []
    slots = re.findall(r"\(\*(\w+)\)\(", text)
    assert len(slots) > 60
    assert [slot for slot in slots if f".{slot} " not in lock and slot not in ("write", "fill", "body", "gantry_provider_entry")] == []


CHANGES = {
    "a member less": ("  uint64_t tag;             /*", "  /*", "member gantry_claim.tag"),
    "a member of another type": ("  int32_t rank;         /* -1: unknown, or not a tensor */", "  uint32_t rank;", "member gantry_value_info.rank"),
    "members the other way round": ("  uint32_t input_count;\n  uint32_t output_count;\n  const uint32_t* outputs;\n  /* values",
                                    "  uint32_t output_count;\n  uint32_t input_count;\n  const uint32_t* outputs;\n  /* values", "member gantry_node.input_count"),
    "another parameter": ("uint32_t (*value_kind)(const gantry_value* value);", "uint32_t (*value_kind)(const gantry_value* value, int strict);",
                          "member gantry_host.value_kind"),
    "another number": ("  GANTRY_BOOL = 9,", "  GANTRY_BOOL = 30,", "enumerator GANTRY_BOOL"),
    "a member in the middle": ("  double time_ns;           /*", "  double energy;\n  double time_ns;           /*", "member gantry_claim.time_ns"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_locked", [False, True])
def test_changes_are_noticed(change, is_locked, tmp_path):
    old, new, subject = CHANGES[change]
    header = changed(tmp_path, old, new)
    folder = declared(tmp_path) if is_locked else SDK
    assert subject in abi_lock("--check", "--into", folder, "--header", header, status=1)
    if is_locked:  # and writing the lock anew does not help
        before = (folder / "abi.lock").read_bytes()
        assert subject in abi_lock("--into", folder, "--header", header, status=1)
        assert (folder / "abi.lock").read_bytes() == before


def test_a_locked_table_may_grow(tmp_path):
    folder = declared(tmp_path)
    header = changed(tmp_path, "  void (*trace_end)(gantry_run* run);\n", "  void (*trace_end)(gantry_run* run);\n  void (*later_slot)(gantry_run* run);\n")
    assert "not in the lock yet: member gantry_host.later_slot" in abi_lock("--check", "--into", folder, "--header", header, status=1)
    abi_lock("--into", folder, "--header", header)
    abi_lock("--check", "--into", folder, "--header", header)
    text = (folder / "abi.lock").read_text(encoding="utf-8")
    assert "member gantry_host.later_slot offset 256 size 8" in text and "struct gantry_host size 264" in text
    assert "member gantry_host.later_slot is gone" in abi_lock("--check", "--into", folder, status=1)


def test_a_locked_layout_number_stays(tmp_path):
    folder = declared(tmp_path)
    number = re.search(r"UINT64_C\((0x\w+)\)", HEADER.read_text(encoding="utf-8"))[1]
    assert "layout" in abi_lock("--check", "--into", folder, "--header", changed(tmp_path, number, "0x1"), status=1)


def test_what_cannot_be_read_is_said(tmp_path):
    header = changed(tmp_path, "  double time_ns;           /*", "  int a_bit : 3;\n  double time_ns;           /*")
    assert "struct gantry_claim: `int a_bit : 3` is no member" in abi_lock("--check", "--header", header, status=1)


def holds(manifest):
    """A provider of an earlier version keeps its rules with this gantry."""
    report = facts("provider", "test", manifest)
    assert [check["name"] for check in report["checks"] if check["status"] not in ("passed", "skipped")] == []
    assert report["level_reached"] == 5


def test_the_step_to_1_0(tmp_path):
    """Locks, archives three providers, and does it once; what was archived loads, and a byte of it that changes is noticed."""
    shutil.copy(LOCK, tmp_path)
    assert "is locked" in abi_lock("--declare", "--into", tmp_path)
    assert (tmp_path / "abi.lock").read_text(encoding="utf-8") == LOCK.read_text(encoding="utf-8").replace("state experimental", "state locked")
    archived = sorted((tmp_path / "reference").glob("*/*/*.json"))
    assert [file.parent.name for file in archived] == ["plain_c", "sim", "skeleton"]
    for manifest in archived:
        holds(manifest)
    library = archived[0].parent / json.loads(archived[0].read_text(encoding="utf-8"))["library"]
    with open(library, "ab") as file:
        file.write(b"\0")
    assert "/sha256" in json.dumps(facts("provider", "lint", archived[0], status=1)["findings"])
    assert "declared already" in abi_lock("--declare", "--into", tmp_path, status=1)


@pytest.mark.skipif(not REFERENCES, reason="1.0 is not declared: there are no providers of an earlier version (docs/ABI.md)")
@pytest.mark.parametrize("manifest", REFERENCES, ids=lambda path: "-".join(pathlib.Path(path).parts[-3:-1]))
def test_providers_of_earlier_versions_hold(manifest):
    holds(manifest)
