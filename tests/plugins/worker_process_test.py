# SPDX-License-Identifier: Apache-2.0
"""What an application does around its worker processes: it forks, keeps inheritable descriptors, ignores the ends of its children."""

import os
import subprocess
import sys

import pytest
from sanitizer import PATIENCE

BEGIN = """
import gantry, numpy as np, onnx.parser, os, pathlib, signal, sys, time
isolated = os.environ["GANTRY_ISOLATION"] == "all"
model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]>\\ng (float[n] x) => (float[n] y) { y = Relu(x) }').SerializeToString()

def run(session):
    np.testing.assert_array_equal(session.run({"x": np.float32([-1, 2])})["y"], [0, 2])

def children():
    return [int(child) for thread in pathlib.Path("/proc/self/task").iterdir() for child in (thread / "children").read_text().split()]
"""


def program(code, **environment):
    done = subprocess.run([sys.executable, "-c", BEGIN + code], env={**os.environ, "GANTRY_ISOLATION": "all", **environment},
                          timeout=120 * PATIENCE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return done


def test_a_forked_child_that_exits_leaves_the_parents_workers_alone():
    done = program("""
session = gantry.Session(model, config={"providers": {"isolation": {}}})  # with a runtime of its own
run(session)
before = sorted(children())
for _ in range(3):
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert sorted(children()) == before
    run(session)
""")
    assert "its process" not in done.stderr


def test_a_forked_child_is_told_that_the_worker_is_its_parents():
    program("""
session = gantry.Session(model)
run(session)
if os.fork() == 0:
    for use in (lambda: run(session), lambda: gantry.Session(model)):
        try:
            use()
        except gantry.UnavailableError as error:
            assert "forked" in str(error), error
        else:
            os._exit(2 if isolated else 0)
    os._exit(0)
assert os.wait()[1] == 0
run(session)
""")


def test_inheritable_descriptors_reach_no_worker():
    program("""
secret = os.open(sys.executable, os.O_RDONLY)
os.set_inheritable(secret, True)
high = 900
os.dup2(secret, high, inheritable=True)
session = gantry.Session(model)
run(session)
wanted = os.fstat(secret)
for child in children():
    for number in pathlib.Path(f"/proc/{child}/fd").iterdir():
        try:
            found = number.stat()
        except OSError:
            continue
        assert (found.st_dev, found.st_ino) != (wanted.st_dev, wanted.st_ino), (child, number)
assert children()
""")


@pytest.mark.parametrize("isolation", ["all", "off"])
def test_an_application_that_ignores_the_ends_of_its_children_is_served(isolation):
    program("""
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
session = gantry.Session(model)
run(session)
for child in children():
    os.kill(child, signal.SIGSEGV)
while isolated and children():
    time.sleep(0.01)
try:
    run(session)
    assert not isolated, "no run was told of the end"
except gantry.ProviderCrashedError as error:
    assert "ended in a way that the system did not tell" in str(error), error  # it told the application, which did not listen
run(session)
""", GANTRY_ISOLATION=isolation)
