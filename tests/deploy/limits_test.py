# SPDX-License-Identifier: Apache-2.0
"""Processes whose resources are limited: address space, numbers of processes."""

import os
import resource
import subprocess
import sys

import pytest

MODEL = """
import sys, resource, numpy as np, onnx, gantry
from onnx import helper, TensorProto
f = TensorProto.FLOAT
graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "g", [helper.make_tensor_value_info(n, f, [None, None]) for n in "ab"], [helper.make_tensor_value_info("y", f, None)])
model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
a = np.ones((300, 300), np.float32)
"""

SESSION = """
threads = int(sys.argv[1])
session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}, "providers": {"disable": ["x86"]}})
"""

ADDRESS_SPACE = MODEL + SESSION + """
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[2]) << 20),) * 2)
try:
    print("ran", session.run({"a": a, "b": a})["y"][0, 0])
except gantry.OutOfMemoryError as error:
    print("refused", "memory" in str(error))
"""


def python(program, *arguments, **options):
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False, **options)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-2000:])
    return done


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer itself takes all of the address space")
@pytest.mark.parametrize("room_mib", [8, 40, 100, 200, 400])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_matmul_without_address_space_ends(threads, room_mib):
    """With the result, or with an error where there is no memory at all: OpenBLAS would ask for its buffer for ever."""
    said = python(ADDRESS_SPACE, threads, room_mib).stdout
    assert said == "ran 300.0\n" or (room_mib < 60 and said == "refused True\n")


ONE_PROCESS = MODEL + """
import os
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
os.setgroups([]); os.setgid(65534); os.setuid(65534)
""" + SESSION + """
for _ in range(3):
    print(session.run({"a": a, "b": a})["y"][0, 0])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who has no process yet")
@pytest.mark.parametrize("threads", [2, 4])
def test_runs_where_no_thread_can_be_made(threads):
    done = python(ONE_PROCESS, threads)
    assert done.stdout == "300.0\n" * 3
    assert done.stderr.count("no thread can be made") == 1 and done.stderr.count("\n") == 1, done.stderr
