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
import tarfile
import tempfile
import threading

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


BINARIES = "binaries.tar.gz"
PARTS = ("bin", "lib")  # in it


def unpack(archive: pathlib.Path, room: pathlib.Path) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(room, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def pack_binaries(folder: pathlib.Path) -> None:
    """Puts what was built, two thirds of a folder that travels, into one file a third as large."""
    with tarfile.open(folder / BINARIES, "w:gz") as packed:
        for part in PARTS:
            packed.add(folder / part, part)
            shutil.rmtree(folder / part)


def is_packed(folder: pathlib.Path) -> bool:
    """Whether `tools/gpu-test --pack` made the folder."""
    return (folder / BINARIES).exists()


def unpack_binaries(folder: pathlib.Path) -> None:
    """Where they are not there yet. SystemExit: nothing can be written there."""
    if all((folder / part).exists() for part in PARTS):
        return
    try:
        with tempfile.TemporaryDirectory(dir=folder) as room:
            unpack(folder / BINARIES, pathlib.Path(room))
            for part in PARTS:  # whole or not at all
                shutil.rmtree(folder / part, ignore_errors=True)
                (pathlib.Path(room) / part).rename(folder / part)
    except OSError as error:
        sys.exit(f"{folder}: its binaries are unpacked there, which fails: {error}; copy the folder to where there is room and files may be written")


class WatchedMemory:
    """While it is entered, asks what GPU 0 has in use; `most_mib` is the most, None if nvidia-smi never told."""

    def __init__(self, pause_s: float = 0.2):
        self.most_mib, self._pause_s, self._is_over = None, pause_s, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _watch(self):
        while not self._is_over.wait(self._pause_s):
            told = answer_of("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0")
            if not told.isdigit():
                return
            self.most_mib = max(self.most_mib or 0, int(told))


def describe() -> dict:
    return {"gpus": answer_of("nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm", "--format=csv,noheader"),
            "python": platform.python_version(), "libc": " ".join(platform.libc_ver()), "cores": os.cpu_count(), "libraries": library_folders(),
            "compute-sanitizer": sanitizer()}
