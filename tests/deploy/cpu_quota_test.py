# SPDX-License-Identifier: Apache-2.0
"""Sessions have as many threads as the affinity mask and the control group's CPU quota both allow, rounded up."""

import contextlib
import json
import math
import os
import pathlib

import pytest
from command_line import BINARY
from deployments import among_own_mounts, run

CPUS = sorted(os.sched_getaffinity(0))
GROUPS = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 100_000

needs_two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="with one CPU a quota changes nothing")


def threads(printed):
    return next(member["value"] for member in json.loads(printed)["values"] if member["pointer"] == "/session/threads")


# Prints the threads of a process that enters a control group first.
ENTER = 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"'
SHOW = [BINARY, "config", "show", "--json"]


@contextlib.contextmanager
def control_group(controller):
    """A new group of that hierarchy."""
    group = controller / f"gantry-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made in {controller}: {error.strerror}")
    try:
        yield group
    finally:
        group.rmdir()


def first_version():
    for folder in (GROUPS / "cpu,cpuacct", GROUPS / "cpu"):
        if (folder / "cpu.cfs_quota_us").exists() or (folder / "cgroup.procs").exists():
            return folder
    pytest.skip("this system has no CPU controller of version 1 of control groups")


def second_version():
    controllers = GROUPS / "cgroup.controllers"
    if not controllers.exists() or "cpu" not in controllers.read_text().split():
        pytest.skip("this system has no CPU controller of version 2 of control groups; its files are made below")
    return GROUPS


def set_quota(group, cpus):
    """In the version that the group is of."""
    quota = int(cpus * PERIOD_US)
    files = {"cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": quota} if (group / "cpu.cfs_quota_us").exists() else {"cpu.max": f"{quota} {PERIOD_US}"}
    for name, text in files.items():
        try:
            (group / name).write_text(str(text))
        except OSError as error:  # the controller is not handed down to this group
            pytest.skip(f"{group / name} cannot be written: {error.strerror}")


@needs_two_cpus
@pytest.mark.parametrize("hierarchy", [first_version, second_version])
def test_a_real_quota(hierarchy):
    with control_group(hierarchy()) as group:
        for cpus, wanted in ((1, 1), (0.4, 1), (1.5, 2), (len(CPUS) + 3, len(CPUS))):
            set_quota(group, cpus)
            assert threads(run(["sh", "-euc", ENTER, "sh", group, *SHOW])[0]) == wanted, cpus


# Another folder of control groups for one process: what the kernel has there is not to be seen.
MADE = """
mount -t tmpfs none /sys/fs/cgroup
for file in $1; do mkdir -p "/sys/fs/cgroup/${file%/*}"; done
printf '%s\n' "$2" > "/sys/fs/cgroup/$3"
[ -z "$4" ] || printf '%s\n' "$4" > "/sys/fs/cgroup/$5"
affinity=$6
shift 6
exec taskset -c "$affinity" "$@"
"""


def made_threads(cpus, version, affinity):
    """Of a process in a container whose own group is the root that it sees."""
    quota = "max" if cpus is None else str(int(cpus * PERIOD_US))
    if version == 2:
        files = (f"{quota} {PERIOD_US}", "cpu.max", "", "")
        folders = "./cpu.max"
    else:
        controllers = next((line.split(":")[1] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if "cpu" in line.split(":")[1].split(",")), None)
        if controllers is None:
            pytest.skip("no process of this system is in a CPU group of version 1")
        folders = f"{controllers}/x"
        files = ("-1" if cpus is None else quota, f"{controllers}/cpu.cfs_quota_us", str(PERIOD_US), f"{controllers}/cpu.cfs_period_us")
    return threads(among_own_mounts(MADE, folders, *files, ",".join(map(str, affinity)), *SHOW)[0])


@pytest.mark.parametrize("version", [1, 2])
def test_the_quota_that_a_container_sees(version):
    """Where no control group can be made, and for the version that this system does not have."""
    for cpus in (None, 0.4, 1, 1.5, 64):
        wanted = len(CPUS) if cpus is None else min(len(CPUS), math.ceil(cpus))
        assert made_threads(cpus, version, CPUS) == wanted, cpus


@needs_two_cpus
def test_the_affinity_mask_counts_too():
    assert made_threads(2, 2, CPUS[:1]) == 1
    assert made_threads(None, 2, CPUS[1:]) == len(CPUS) - 1
