# SPDX-License-Identifier: Apache-2.0
"""Installed files of other owners, groups and modes, as images and volumes have them, run by users who do not own them."""

import dataclasses
import json
import os
import shutil

import onnx
import pytest
from broken_models import add_model
from command_line import BINARY
from deployments import User, needs_root, open_folder, run, set_files

BUILDER, SOMEBODY, SHARED = 61001, 61002, 61200  # users and a group that no file of the system belongs to


@pytest.fixture(scope="module", name="prefix")
def installed():
    """The command, the core and the bundled providers, laid out as `cmake --install` and the build do, and a model beside them."""
    with open_folder() as folder:
        prefix = folder / "above" / "gantry"
        shutil.copytree(BINARY.parents[1] / "lib", prefix / "lib", ignore=shutil.ignore_patterns("*.a"))
        (prefix / "bin").mkdir()
        shutil.copy(BINARY, prefix / "bin")
        onnx.save(add_model(), prefix / "add.onnx")
        yield prefix


@dataclasses.dataclass(frozen=True)
class Case:
    """`above`: owner, group and mode of the folder that holds the prefix."""
    owner: tuple[int, int] | None
    folder_mode: int
    file_mode: int
    who: User
    above: tuple[int, int, int] = (0, 0, 0o755)


OTHERS = {
    "chgrp 0, chmod g=u": Case((0, 0), 0o775, 0o664, User(SOMEBODY, 0)),
    "of the user who built the image, group 0": Case((BUILDER, 0), 0o775, 0o664, User(SOMEBODY, 0)),
    "of another user, not writable": Case((BUILDER, BUILDER), 0o755, 0o644, User(SOMEBODY, SOMEBODY)),
    "umask 002, a group of the user's own": Case((BUILDER, BUILDER), 0o775, 0o664, User(BUILDER, BUILDER)),
    "setgid folders": Case((BUILDER, SHARED), 0o2775, 0o664, User(SOMEBODY, SOMEBODY, (SHARED,))),
    "setgid folders, run by a user who is not in the group": Case((BUILDER, SHARED), 0o2775, 0o664, User(SOMEBODY, SOMEBODY)),
    "an emptyDir": Case((BUILDER, BUILDER), 0o755, 0o644, User(SOMEBODY, SOMEBODY), (0, 0, 0o777)),
    "an emptyDir with a group": Case((BUILDER, SHARED), 0o2775, 0o664, User(SOMEBODY, SOMEBODY, (SHARED,)), (0, SHARED, 0o2777)),
    "all may write": Case((0, 0), 0o777, 0o666, User(SOMEBODY, SOMEBODY)),
}
OWN = {
    "umask 002": Case(None, 0o775, 0o664, User()),
    "setgid folders": Case(None, 0o2775, 0o664, User()),
}


def lay_out(prefix, case):
    set_files(prefix, case.folder_mode, case.file_mode, case.owner)
    if case.owner:
        owner, group, mode = case.above
        os.chown(prefix.parent, owner, group)
        prefix.parent.chmod(mode)


def expect_that_it_runs(prefix, who):
    """By all bundled providers of this machine, in the process and in one of its own, without a word on the log."""
    command, quiet = prefix / "bin" / "gantry", {"HOME": "/nonexistent"}
    printed, said = run([command, "doctor", "--json"], who, quiet)
    rows = {row["name"]: row for row in json.loads(printed)["providers"]}
    assert rows["cpu"]["state"] == "ready" and all(row["code"] in ("OK", "UNAVAILABLE") and row["stage"] != "file checks" for row in rows.values()), rows
    assert said == ""
    for isolation in ("off", "all"):
        printed, said = run([command, "run", prefix / "add.onnx", "--random", "--dim", "n=3"], who, {**quiet, "GANTRY_ISOLATION": isolation})
        assert "z" in printed and said == ""


@needs_root
@pytest.mark.parametrize("name", OTHERS)
def test_finds_bundled_providers_among_files_of_others(prefix, name):
    lay_out(prefix, OTHERS[name])
    expect_that_it_runs(prefix, OTHERS[name].who)


@pytest.mark.parametrize("name", OWN)
def test_finds_bundled_providers_among_own_files_that_a_group_may_write(prefix, name):
    lay_out(prefix, OWN[name])
    expect_that_it_runs(prefix, User())


def vendor_row(prefix, who):
    """What becomes of a provider that is not bundled, and the log."""
    folder = prefix.parent.parent / "vendor"
    config = json.dumps({"providers": {"search": [str(folder)]}})
    command = [prefix / "bin" / "gantry", "doctor", "--json", "--config", config]
    printed, said = run(command, who, {"HOME": "/nonexistent"}, statuses=(0, 1))
    (row,) = (row for row in json.loads(printed)["providers"] if row["manifest"].startswith(str(folder)))
    return row, said


@pytest.fixture(name="vendor")
def vendors_folder(prefix):
    """A provider in a folder of its own, not beside the core."""
    folder = prefix.parent.parent / "vendor"
    folder.mkdir(mode=0o755)
    bundled = prefix / "lib" / "gantry" / "providers.d"
    for name in ("sim.json", "libgantry_sim.so"):
        shutil.copy(bundled / name, folder / name)
    yield folder
    shutil.rmtree(folder)


VENDORS = {
    "of a group of the process": ((0, SHARED), 0o2775, 0o664, User(SOMEBODY, SOMEBODY, (SHARED,))),
    "of the group of the process": ((0, SHARED), 0o2775, 0o664, User(SOMEBODY, SHARED)),
    "of the user who runs it": ((SOMEBODY, SOMEBODY), 0o755, 0o644, User(SOMEBODY, SOMEBODY)),
}
FOREIGN = {
    "of a group that is not the process's": ((0, SHARED), 0o2775, 0o664, User(SOMEBODY, SOMEBODY), f"group {SHARED} may; chmod g-w"),
    "of another user": ((BUILDER, BUILDER), 0o755, 0o644, User(SOMEBODY, SOMEBODY), f"found user {BUILDER}"),
    "that all may write": ((0, 0), 0o777, 0o666, User(SOMEBODY, SOMEBODY), "everybody may; chmod o-w"),
}


def root_owns(prefix):
    lay_out(prefix, Case((0, 0), 0o755, 0o644, User()))


@needs_root
@pytest.mark.parametrize("name", VENDORS)
def test_takes_a_vendors_provider_of_the_processs_own_users_and_groups(prefix, vendor, name):
    root_owns(prefix)
    owner, folder_mode, file_mode, who = VENDORS[name]
    set_files(vendor, folder_mode, file_mode, owner)
    row, said = vendor_row(prefix, who)
    assert (row["state"], said) == ("ready", ""), row


@needs_root
@pytest.mark.parametrize("name", FOREIGN)
def test_refuses_a_vendors_provider_that_others_could_replace(prefix, vendor, name):
    root_owns(prefix)
    owner, folder_mode, file_mode, who, why = FOREIGN[name]
    set_files(vendor, folder_mode, file_mode, owner)
    row, said = vendor_row(prefix, who)
    assert row["state"] == "rejected" and why in row["message"] and str(vendor) in row["message"], row
    assert why in said


def test_takes_the_users_own_provider_that_a_group_may_write(prefix, vendor):
    """As umask 002 leaves it."""
    lay_out(prefix, OWN["umask 002"])
    set_files(vendor, 0o775, 0o664)
    row, said = vendor_row(prefix, User())
    assert (row["state"], said) == ("ready", ""), row
