# SPDX-License-Identifier: Apache-2.0
"""What a strange machine has: where NVIDIA's run-time libraries lie that the dynamic linker may not know, and what is worth to be written down of it.
Needs nothing but Python."""

import contextlib
import functools
import glob
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys

LIBRARIES = ["libnvrtc.so.*", "libcublasLt.so.*", "libcudnn.so.9"]
TOOLKITS = ["/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True), "/opt/cuda"]
ASK_S = 20  # for an answer of another program


def run(command, limit_s: float, environment=None) -> subprocess.CompletedProcess:
    """The program with what it printed. subprocess.TimeoutExpired, with what it had printed: it has been ended, and with it what it had started: a child
    that hangs in a driver would else hold the output open, and who reads it, for ever."""
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment, start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as expired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
            if process.returncode is None:
                process.returncode = -signal.SIGKILL  # the kernel does not let go of it: it is left behind
            raise subprocess.TimeoutExpired(command, limit_s, (expired.output or b"").decode(errors="replace"),
                                            (expired.stderr or b"").decode(errors="replace")) from None
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def answer_of(*command) -> str:
    """What a program prints; empty: it is not there, or it fails."""
    try:
        done = run(command, ASK_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@functools.cache
def python_folders() -> list:
    """Where packages lie, of this Python and of the one that a shell would start."""
    told = answer_of(shutil.which("python3") or sys.executable, "-c", "import sys; print('\\n'.join(sys.path))")
    return [folder for folder in dict.fromkeys([*sys.path, *told.splitlines()]) if folder]


def library_folders() -> list:
    """Folders with one of the libraries: of Python's packages first, which belong together, then of toolkits."""
    found = []
    for folder in python_folders():
        found += sorted(glob.glob(f"{folder}/nvidia/*/lib"))
    for home in [os.environ.get("CUDA_HOME", ""), *TOOLKITS]:
        found += [f"{home}/lib64", f"{home}/lib", f"{home}/targets/x86_64-linux/lib"] if home else []
    has_one = lambda folder: any(glob.glob(f"{folder}/{name}") for name in LIBRARIES)  # noqa: E731
    return [folder for folder in dict.fromkeys(found) if has_one(folder)]


def environment_of(folder: pathlib.Path) -> dict:
    """The environment for gantry's binaries in a folder that `tools/gpu-test --pack` made. What the caller says of libraries goes before what is found."""
    path = [str(folder / "lib"), os.environ.get("LD_LIBRARY_PATH", ""), *library_folders()]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(part for part in path if part)}


def sanitizer() -> str:
    """The path of compute-sanitizer; empty: there is none."""
    beside = [path for home in [os.environ.get("CUDA_HOME", ""), *TOOLKITS] if home
              for path in (f"{home}/bin/compute-sanitizer", f"{home}/compute-sanitizer/compute-sanitizer")]
    return shutil.which("compute-sanitizer") or next((path for path in beside if os.access(path, os.X_OK)), "")


def describe() -> dict:
    return {"gpus": answer_of("nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm", "--format=csv,noheader"),
            "python": platform.python_version(), "libc": " ".join(platform.libc_ver()), "cores": os.cpu_count(), "libraries": library_folders(),
            "compute-sanitizer": sanitizer()}
