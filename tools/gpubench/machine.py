# SPDX-License-Identifier: Apache-2.0
"""The machine that is measured: folders of NVIDIA's run-time libraries that the dynamic linker may not search, and a description for the report.
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
ASK_S = 20  # time limit of a query to another program


def run(command, limit_s: float, environment=None) -> subprocess.CompletedProcess:
    """Runs a program; returns its output. subprocess.TimeoutExpired, with the output so far: the whole process group was killed, because a child
    that hangs in a driver would keep the pipe open and block the reader for ever."""
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
                process.returncode = -signal.SIGKILL  # stuck in the kernel: the process is abandoned
            raise subprocess.TimeoutExpired(command, limit_s, (expired.output or b"").decode(errors="replace"),
                                            (expired.stderr or b"").decode(errors="replace")) from None
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def answer_of(*command) -> str:
    """The standard output of a program; empty: it is missing or fails."""
    try:
        done = run(command, ASK_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@functools.cache
def python_folders() -> list:
    """Package folders of this Python and of the one that a shell would start."""
    told = answer_of(shutil.which("python3") or sys.executable, "-c", "import sys; print('\\n'.join(sys.path))")
    return [folder for folder in dict.fromkeys([*sys.path, *told.splitlines()]) if folder]


def library_folders() -> list:
    """Folders with one of the libraries: first those of Python packages, which match each other, then those of toolkits."""
    found = []
    for folder in python_folders():
        found += sorted(glob.glob(f"{folder}/nvidia/*/lib"))
    for home in [os.environ.get("CUDA_HOME", ""), *TOOLKITS]:
        found += [f"{home}/lib64", f"{home}/lib", f"{home}/targets/x86_64-linux/lib"] if home else []
    has_one = lambda folder: any(glob.glob(f"{folder}/{name}") for name in LIBRARIES)  # noqa: E731
    return [folder for folder in dict.fromkeys(found) if has_one(folder)]


def environment_of(folder: pathlib.Path) -> dict:
    """The environment for gantry's binaries in a folder that `tools/gpu-test --pack` made. LD_LIBRARY_PATH of the caller comes before the folders that are found."""
    path = [str(folder / "lib"), os.environ.get("LD_LIBRARY_PATH", ""), *library_folders()]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(part for part in path if part)}


def sanitizer() -> str:
    """The path of compute-sanitizer; empty: not installed."""
    beside = [path for home in [os.environ.get("CUDA_HOME", ""), *TOOLKITS] if home
              for path in (f"{home}/bin/compute-sanitizer", f"{home}/compute-sanitizer/compute-sanitizer")]
    return shutil.which("compute-sanitizer") or next((path for path in beside if os.access(path, os.X_OK)), "")


BINARIES = "binaries.tar.gz"
PARTS = ("bin", "lib")  # in it


def unpack(archive: pathlib.Path, room: pathlib.Path) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(room, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def pack_binaries(folder: pathlib.Path) -> None:
    """Compresses the binaries, two thirds of a packed folder, into one archive a third as large."""
    with tarfile.open(folder / BINARIES, "w:gz", compresslevel=6) as packed:  # 9 takes three times as long for one part in a hundred
        for part in PARTS:
            packed.add(folder / part, part)
            shutil.rmtree(folder / part)


def is_packed(folder: pathlib.Path) -> bool:
    """Whether `tools/gpu-test --pack` made the folder."""
    return (folder / BINARIES).exists()


def unpack_binaries(folder: pathlib.Path) -> None:
    """Unpacks the binaries if they are missing. SystemExit: the folder is not writable."""
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
    """A context manager that polls the used memory of GPU 0; `most_mib` is the peak, None if nvidia-smi fails."""

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
