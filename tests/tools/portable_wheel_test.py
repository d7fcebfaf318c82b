# SPDX-License-Identifier: Apache-2.0
"""What makes the wheel's files run with older C libraries: the functions that those lack, and the rewriting of the files."""

import ctypes
import errno
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

import pytest

WHEEL = pathlib.Path(__file__).resolve().parents[2] / "python" / "wheel"
CC = shutil.which("gcc") or "cc"
CXX = shutil.which("g++") or "c++"

PROGRAM = """
#include <pthread.h>
#include <sys/stat.h>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
static std::string made_before_main(4, 'x');
int main(int count, char** arguments) {
  try {
    made_before_main.at(4);
    return 2;
  } catch (const std::out_of_range&) {
  }
  pthread_t thread;
  double power = 0;
  pthread_create(&thread, nullptr, [](void* out) -> void* { *static_cast<double*>(out) = std::pow(2.0, 0.5); return nullptr; }, &power);
  pthread_join(thread, nullptr);
  struct stat status;
  if (stat(arguments[0], &status) != 0) return 1;
  std::printf("%d %s %.6f %d\\n", count, made_before_main.c_str(), power, S_ISREG(status.st_mode));
}
"""

MISSING = """
#include <unistd.h>
extern "C" void use() { closefrom(100); }
"""


def compile(*command):
    subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, check=True)


def build_compat(folder):
    library = folder / "libgantry_glibc.so"
    compile(CC, "-O2", "-Wall", "-Werror", "-fPIC", "-shared", "-o", library, WHEEL / "glibc_compat.c")
    return library


@pytest.fixture(scope="module")
def compat(tmp_path_factory):
    return ctypes.CDLL(str(build_compat(tmp_path_factory.mktemp("compat"))), use_errno=True)


@pytest.mark.parametrize("suffix", ["", "64"])
def test_states_of_files(compat, suffix, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    link = tmp_path / "link"
    link.symlink_to(file)
    buffer = (ctypes.c_uint64 * 32)()  # struct stat of x86-64: st_dev, st_ino, st_nlink, st_mode and st_uid, st_gid, st_rdev, st_size
    with file.open("rb") as opened:
        calls = [(file.stat(), "stat", (os.fsencode(link), buffer)), (link.lstat(), "lstat", (os.fsencode(link), buffer)),
                 (file.stat(), "fstat", (opened.fileno(), buffer)), (file.stat(), "fstatat", (-100, os.fsencode(link), buffer, 0))]
        for expected, name, arguments in calls:
            assert compat[name + suffix](*arguments) == 0
            assert [buffer[0], buffer[1], buffer[3] & 0xFFFFFFFF, buffer[6]] == [expected.st_dev, expected.st_ino, expected.st_mode,
                                                                                 expected.st_size], name
    assert compat["stat" + suffix](os.fsencode(tmp_path / "nothing"), buffer) == -1
    assert ctypes.get_errno() == errno.ENOENT


def test_numbers_of_threads_and_chance(compat):
    found = []
    thread = threading.Thread(target=lambda: found.append((compat.gettid(), threading.get_native_id())))
    thread.start()
    thread.join()
    assert found[0][0] == found[0][1] != compat.gettid()
    assert len({compat.arc4random() for _ in range(100)}) > 90
    assert ctypes.c_char.in_dll(compat, "__libc_single_threaded").value == b"\0"


class Mallinfo2(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
                                                     "fordblks", "keepcost")]


def test_what_is_allocated(compat):
    system = ctypes.CDLL(None)
    system.malloc.restype = ctypes.c_void_p
    compat.mallinfo2.restype = system.mallinfo2.restype = Mallinfo2
    before = compat.mallinfo2()
    size = 1 << 30  # a mapping of its own: more than earlier tests can have left free on the heap
    kept = ctypes.c_void_p(system.malloc(size))
    assert compat.mallinfo2().hblkhd >= before.hblkhd + size
    assert (compat.mallinfo2().hblks, compat.mallinfo2().hblkhd) == (system.mallinfo2().hblks, system.mallinfo2().hblkhd)
    system.free(kept)


class Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_long)]


def monotonic_after(seconds):
    moment = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(seconds * 1e9)
    return Timespec(moment // 1_000_000_000, moment % 1_000_000_000)


def test_waits_by_the_clock_that_is_named(compat):
    """The condition's own clock is CLOCK_REALTIME, half a century ahead of the one that counts from the machine's start."""
    system = ctypes.CDLL(None)
    mutex, condition = (ctypes.c_uint64 * 8)(), (ctypes.c_uint64 * 8)()  # as PTHREAD_MUTEX_INITIALIZER and PTHREAD_COND_INITIALIZER
    system.pthread_mutex_lock(mutex)
    until = monotonic_after(0.05)
    assert compat.pthread_cond_clockwait(condition, mutex, time.CLOCK_MONOTONIC, ctypes.byref(until)) == errno.ETIMEDOUT
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    assert now >= until.seconds * 1_000_000_000 + until.nanoseconds

    def wake():
        system.pthread_mutex_lock(mutex)
        system.pthread_cond_signal(condition)
        system.pthread_mutex_unlock(mutex)

    thread = threading.Thread(target=wake)
    thread.start()  # it waits for the mutex, which the call gives up
    later = monotonic_after(10)  # by the other clock long ago: the call would return again and again, and miss the signal
    assert compat.pthread_cond_clockwait(condition, mutex, time.CLOCK_MONOTONIC, ctypes.byref(later)) == 0
    thread.join()
    thread = threading.Thread(target=wake)
    thread.start()
    never = Timespec(2**62, 0)
    assert compat.pthread_cond_clockwait(condition, mutex, time.CLOCK_MONOTONIC, ctypes.byref(never)) == 0
    thread.join()


@pytest.mark.skipif("LD_AUDIT" in os.environ, reason="what a test makes is not shown the older CPU that the C library is shown (docs/decisions/0081-cpuid-mask.md)")
def test_features_of_the_cpu_are_the_c_librarys(compat):
    system = ctypes.CDLL(None)
    if not hasattr(system, "__x86_get_cpuid_feature_leaf"):
        pytest.skip("this C library does not say what the CPU has")
    leaf_of = {}
    for library in (compat, system):
        function = library["__x86_get_cpuid_feature_leaf"]
        function.restype = ctypes.POINTER(ctypes.c_uint32 * 8)
        leaf_of[library] = function
    # Leaf, register (0: EAX) and bit, as CPUID has them.
    asked = {"ssse3": (0, 2, 9), "fma": (0, 2, 12), "sse4_2": (0, 2, 20), "pclmulqdq": (0, 2, 1), "aes": (0, 2, 25), "avx": (0, 2, 28),
             "f16c": (0, 2, 29), "bmi1": (1, 1, 3), "avx2": (1, 1, 5), "bmi2": (1, 1, 8), "avx512f": (1, 1, 16), "avx512dq": (1, 1, 17),
             "avx512cd": (1, 1, 28), "avx512bw": (1, 1, 30), "avx512vl": (1, 1, 31), "avx512_vnni": (1, 2, 11), "amx_tile": (1, 3, 24),
             "lzcnt": (2, 2, 5)}
    has = {library: {name: bool(leaf_of[library](leaf).contents[4 + register] >> bit & 1) for name, (leaf, register, bit) in asked.items()}
           for library in leaf_of}
    assert has[compat] == has[system]
    assert list(leaf_of[compat](8).contents) == [0] * 8


def rewrite(folder):
    return subprocess.run([sys.executable, WHEEL / "make_portable.py", folder, "libgantry_glibc.so", "libstdc++.so.6=libgantry_stdc++.so.6"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"})


@pytest.fixture
def folder(tmp_path):
    """A program's folder as the wheel's is before it is rewritten: the C++ run-time in it, under its own name."""
    build_compat(tmp_path)
    cxx = subprocess.run([CXX, "-print-file-name=libstdc++.so.6"], capture_output=True, text=True, check=True).stdout.strip()
    shutil.copy(cxx, tmp_path / "libgantry_stdc++.so.6")
    return tmp_path


def needs_of(file):
    return subprocess.run(["readelf", "--version-info", "--dynamic", file], capture_output=True, text=True, check=True).stdout


def test_a_program_asks_for_nothing_newer(folder):
    source = folder / "program.cc"
    source.write_text(PROGRAM)
    compile(CXX, "-o", folder / "program", source, "-Wl,--disable-new-dtags,-rpath,$ORIGIN")
    assert "GLIBC_2.34" in needs_of(folder / "program")
    done = rewrite(folder)
    assert done.returncode == 0, done.stderr
    for name in ("program", "libgantry_stdc++.so.6", "libgantry_glibc.so"):
        said = needs_of(folder / name)
        assert max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", said)) <= 27, said
        assert "[libstdc++.so.6]" not in said
        assert not re.search("GLIBCXX_|CXXABI_", said)
    assert "[libgantry_stdc++.so.6]" in needs_of(folder / "program")
    assert "[libpthread.so.0]" in needs_of(folder / "libgantry_glibc.so")
    ran = subprocess.run([folder / "program", "x"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "2 xxxx 1.414214 1\n"), ran.stderr


def test_a_symbol_that_nobody_defines_is_named(folder):
    source = folder / "missing.cc"
    source.write_text(MISSING)
    compile(CXX, "-fPIC", "-shared", "-o", folder / "libmissing.so", source)
    done = rewrite(folder)
    assert done.returncode != 0
    assert "libmissing.so: it needs closefrom, which glibc 2.27 lacks and libgantry_glibc.so does not define." in done.stderr
