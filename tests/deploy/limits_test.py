# SPDX-License-Identifier: Apache-2.0
"""Processes whose resources are limited: address space, numbers of processes. That no library hangs there is also tested in tests/providers/cpu/blas_buffers_test.cc."""

import os
import subprocess
import sys

import pytest

MODEL = """
import os, sys, resource, numpy as np, onnx, gantry
from onnx import helper, TensorProto
f = TensorProto.FLOAT
graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "g", [helper.make_tensor_value_info(n, f, [None, None]) for n in "ab"], [helper.make_tensor_value_info("y", f, None)])
model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
a = np.ones((300, 300), np.float32)

def limit_address_space(room_mib):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (room_mib << 20),) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (30, 30))  # what asks for memory again and again is ended by its time
"""

SESSION = """
threads = int(sys.argv[1])
session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}, "providers": {"disable": ["x86"]}})
"""

ADDRESS_SPACE = MODEL + SESSION + """
limit_address_space(int(sys.argv[2]))
try:
    print("ran", session.run({"a": a, "b": a})["y"][0, 0])
except gantry.OutOfMemoryError as error:
    print("refused", "memory" in str(error))
"""


def python(program, *arguments, **options):
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False, **options)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-2000:])
    return done


limits_address_space = pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer itself takes all of the address space")


@limits_address_space
@pytest.mark.parametrize("room_mib", [8, 40, 100, 200, 400])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_matmul_without_address_space_ends(threads, room_mib):
    """With the result, or with an error where there is no memory at all: OpenBLAS would ask for its buffer for ever."""
    said = python(ADDRESS_SPACE, threads, room_mib).stdout
    assert said == "ran 300.0\n" or (room_mib < 60 and said == "refused True\n")


LOADING = MODEL + """
limit_address_space(int(sys.argv[2]))
try:
    session = gantry.Session(model, device="CPU", config={"session": {"threads": int(sys.argv[1])}})
    print("ran", session.run({"a": a, "b": a})["y"][0, 0])
except gantry.Error as error:  # which provider found room for its libraries decides what is refused
    print("refused", len(str(error)) > 20)
"""


@limits_address_space
@pytest.mark.parametrize("room_mib", [8, 50, 60, 70, 150, 250, 320])
@pytest.mark.parametrize("threads", [2, 8])
def test_loading_without_address_space_ends(threads, room_mib):
    """Libraries and threads are refused too, one before another."""
    said = python(LOADING, threads, room_mib)
    assert said.stdout in ("ran 300.0\n", "refused True\n"), said.stderr


ISOLATED = MODEL + """
limit_address_space(3000)
session = gantry.Session(model, device="CPU", config={"providers": {"disable": ["x86"], "isolation": {"cpu": "process"}}})
print("ran", session.run({"a": a, "b": a})["y"][0, 0])
"""


@limits_address_space
def test_an_isolated_provider_takes_part_of_the_address_space():
    """The memory shared with its process, of which it has 256 GiB elsewhere."""
    assert python(ISOLATED).stdout == "ran 300.0\n"


# A user of whom no other process is, but for root: who is limited from now on.
FEW_PROCESSES = MODEL + """
there = len(os.listdir("/proc/self/task"))
more = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NPROC, (there + more if more else 1,) * 2)
if os.geteuid() == 0:
    nobody_else = 61300 + os.getpid() % 4000
    os.setgroups([]); os.setgid(nobody_else); os.setuid(nobody_else)
""" + SESSION + """
for _ in range(20):
    assert session.run({"a": a, "b": a})["y"][0, 0] == 300
print(len(os.listdir("/proc/self/task")) - there)
"""


@pytest.mark.parametrize("threads", [2, 4])
def test_runs_where_no_thread_can_be_made(threads):
    done = python(FEW_PROCESSES, threads, 0)
    assert done.stdout == "0\n"
    assert done.stderr.count("no thread can be made") == 1 and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who has no process yet, of whom the system then counts threads")
@pytest.mark.parametrize("more", [1, 3])
def test_runs_where_fewer_threads_can_be_made_than_are_wanted(more):
    """A worker of oneTBB that cannot make the next one would end the process."""
    done = python(FEW_PROCESSES, 8, more)
    assert int(done.stdout) <= more
    assert done.stderr.count(f"only {more} of 7 threads can be made") == 1 and done.stderr.count("\n") == 1, done.stderr
