# SPDX-License-Identifier: Apache-2.0
"""tools/cpuid_mask.py: processes that see an older CPU than there is."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "support")]
import cpuid_mask  # noqa: E402: the folders of scripts are no packages
from cpu_flags import CPU_FLAGS  # noqa: E402
from workspace import RELEASE, Failure  # noqa: E402

NUMPY = pathlib.Path(np._core._multiarray_umath.__file__).resolve()
X86, DNNL = (next((RELEASE / "lib" / "gantry" / "providers.d").glob(name)).resolve() for name in ("libgantry_x86.so", "libgantry_onednn_dnnl.so*"))

pytestmark = pytest.mark.skipif("avx512_vnni" not in CPU_FLAGS, reason="this CPU, or the one that this process sees, has no AVX-512 with VNNI that could be hidden")

NUMPYS_FEATURES = """
from numpy._core._multiarray_umath import __cpu_features__ as features
print(*(name for name in ("AVX2", "AVX512F", "AVX512VNNI") if features[name]))
"""

KERNEL = """
import gantry, numpy
from onnx import helper, numpy_helper
weights = {"w": numpy.full((8, 1, 16), 0x99, numpy.uint8), "s": numpy.ones(8, numpy.float32)}
node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=32, N=8, bits=4, block_size=32, accuracy_level=4)
inputs, outputs = (helper.make_tensor_value_info(name, 1, [1, extent]) for name, extent in (("x", 32), ("y", 8)))
graph = helper.make_graph([node], "g", [inputs], [outputs], [numpy_helper.from_array(value, name) for name, value in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
session = gantry.Session(model.SerializeToString())
print(session.placement.nodes[0].kernel, session.run({"x": numpy.ones((1, 32), numpy.float32)})["y"].min())
"""


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """Not the one that processes outside of these tests may be reading."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpuid_mask, "FOLDER", tmp_path_factory.mktemp("cpuid_mask"))
        yield


def run(script, variables):
    return subprocess.run([sys.executable, "-c", script], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "PYTHONPATH": str(RELEASE / "python"), **variables})


@pytest.mark.parametrize(("name", "seen"), [("Haswell", "AVX2"), ("AVX2", "AVX2"), ("Skylake-Server", "AVX2 AVX512F"),
                                            ("AVX512_CORE_VNNI", "AVX2 AVX512F AVX512VNNI"), ("AVX2_VNNI", "AVX2")])
def test_the_level_is_what_a_library_finds(name, seen):
    done = run(NUMPYS_FEATURES, cpuid_mask.environment(name, [NUMPY]))
    assert (done.returncode, done.stdout.strip()) == (0, seen), done.stderr


def test_providers_that_are_loaded_later_are_masked():
    """The name of that kernel says for which instructions it is."""
    plain, held = run(KERNEL, {}), run(KERNEL, cpuid_mask.environment("AVX2", [NUMPY, X86, DNNL]))
    assert plain.stdout.split()[0].endswith(".avx512_vnni"), plain.stdout + plain.stderr
    assert held.stdout.split()[0].endswith(".avx2"), held.stdout + held.stderr
    assert plain.stdout.split()[1] == held.stdout.split()[1] == "32.0"


def test_libc_is_masked():
    """`cpu` and its kind ask libc what it found when the process started. Of leaf 7 the second word, whose bit 16 is AVX512F and whose bit 5 is AVX2."""
    script = """
import ctypes
leaf_of = ctypes.CDLL(None).__x86_get_cpuid_feature_leaf
leaf_of.restype = ctypes.POINTER(ctypes.c_uint32 * 8)
words = leaf_of(1).contents
print(*(word >> bit & 1 for word in (words[1], words[5]) for bit in (5, 16)))
"""
    assert run(script, {}).stdout.split() == ["1", "1", "1", "1"]
    assert run(script, cpuid_mask.environment("AVX2", [])).stdout.split() == ["1", "0", "1", "0"]


@pytest.mark.parametrize("options", [[], ["-Wl,--no-eh-frame-hdr"]], ids=["functions", "no table of functions"])
def test_its_bytes_inside_of_another_instruction_are_none(tmp_path, options):
    """A constant, and one at the end of what is looked at."""
    (tmp_path / "a.c").write_text(r"""
unsigned constant(void) { unsigned value; __asm__("movl $0xa20f0000, %0" : "=r"(value)); return value; }
void asks(void) { __asm__ volatile("cpuid" ::: "eax", "ebx", "ecx", "edx"); }
unsigned last(void) { unsigned value; __asm__("movl $0x1a20f, %0" : "=r"(value)); return value; }
""")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", *options, "a.c", "-o", "a.so"], cwd=tmp_path, check=True)
    symbols = subprocess.run(["nm", "a.so"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    asks, last = (next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(f" T {name}")) for name in ("asks", "last"))
    found = [int(address, 16) for address in cpuid_mask.instructions(tmp_path / "a.so")]
    assert len(found) == 1 and asks <= found[0] < last


def test_an_unknown_name():
    with pytest.raises(Failure, match=r'no level or CPU "Pentium".*AVX2 \(Haswell\)'):
        cpuid_mask.environment("Pentium")


def test_a_file_that_has_changed_is_refused():
    """Its bytes at the addresses of the list are not what is to be replaced."""
    variables = cpuid_mask.environment("AVX2", [NUMPY])
    listed = pathlib.Path(variables["LD_AUDIT"]).with_suffix(".txt")
    listed.write_text(listed.read_text() + "at 1000\n")  # of the last file
    done = run(NUMPYS_FEATURES, variables)
    assert done.returncode == 127 and "is not the file that the list was written for" in done.stderr
