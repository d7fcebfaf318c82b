# SPDX-License-Identifier: Apache-2.0
"""The checkout as the scripts of this folder see it: where things lie, how a step is run, how a failure is said."""

import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOGS = BUILD / "logs"
VENV = BUILD / "venv"
PYTHON = VENV / "bin" / "python"
PEERS_STAMP = VENV / "peers.stamp"  # there if the environment holds what the tests and benchmarks need
MODELS = BUILD / "models"
ONNX = BUILD / "deps" / "onnx"
ONEDNN = BUILD / "deps" / "onednn"
RELEASE = BUILD / "release"

# The compiler cache serves every checkout of the same sources: paths within this one are hashed as seen from the build folder.
COMPILER_CACHE = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1", "CCACHE_SLOPPINESS": "locale"}

LOG_LINES_SHOWN = 30


class Failure(Exception):
    """Something a person has to do something about; the text is the whole message."""


def say(text: str) -> None:
    print(text, flush=True)


def duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def go_on_in_environment() -> None:
    """Starts the script anew in the Python of build/venv, which has onnx and the runtimes that ours is compared with."""
    if not PEERS_STAMP.exists():
        raise Failure("build/venv is not there, or holds only what the quick start needs; run tools/setup")
    if pathlib.Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(PYTHON, [str(PYTHON), *sys.argv])


def jobs() -> int:
    """How many compilers may run at once: one for each core, as long as each has 1.5 GB of memory."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(cores, memory // 1_500_000_000))


class Progress:
    """How far a build is, said of Ninja's lines "[done/all] ...": on a terminal in one line that changes, else in a line now and then."""

    SECONDS_BETWEEN_LINES = 30
    HEAVY = 0.15  # of the whole time, that the first few steps take: the core's sources, which read the most headers
    LEAST_DONE = 0.08  # of the steps, from which on the time left is told

    def __init__(self, name: str):
        self.name, self.start, self.on_terminal = name, time.monotonic(), sys.stdout.isatty()
        self.said = self.start

    def see(self, line: str) -> None:
        match = re.match(r"\[(\d+)/(\d+)\] ", line)
        if not match:
            return
        done, everything = int(match[1]), int(match[2])
        now = time.monotonic()
        if not self.on_terminal and (now - self.said < self.SECONDS_BETWEEN_LINES or done == everything):
            return
        self.said = now
        share = done / everything
        left = (now - self.start) * (1 / (self.HEAVY + (1 - self.HEAVY) * share) - 1)
        text = f"{self.name}: {done} of {everything} steps" + (f", about {duration(left)} left" if share >= self.LEAST_DONE else "")
        print(f"\r{text:<78}" if self.on_terminal else text, end="" if self.on_terminal else "\n", flush=True)

    def end(self) -> None:
        if self.on_terminal:
            print(f"\r{'':<78}\r", end="", flush=True)


def run(step: str, *commands: list, env: dict = None, progress: Progress = None) -> None:
    """Runs the commands of a step, one after the other, their output in a log; `progress` sees each line of it.

    A failure shows the end of the log and names its file.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{step.replace(' ', '-')}.log"
    full_env = {**os.environ, **(env or {})}
    with open(log, "w", encoding="utf-8") as output:
        for command in commands:
            try:
                process = subprocess.Popen([str(part) for part in command], cwd=ROOT, stdin=subprocess.DEVNULL, env=full_env,
                                           stdout=subprocess.PIPE if progress else output, stderr=subprocess.STDOUT, text=True, errors="replace")
            except FileNotFoundError as error:
                raise Failure(f"The step \"{step}\" needs the program {command[0]}, which is not there ({error.strerror}).") from error
            with process:
                for line in process.stdout or []:
                    output.write(line)
                    progress.see(line)
            if progress:
                progress.end()
            if process.returncode != 0:
                output.flush()
                end = log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
                said = f" The end of {log.relative_to(ROOT)} is above." if end else ""
                raise Failure("\n".join([*end, f"The step \"{step}\" failed: {command[0]} ended with status {process.returncode}.{said}"]))


def build(*options: str, preset: str = "release", targets: list = ()) -> None:
    """Configures the preset with the options and builds the targets, or all there are, into build/PRESET; quick when nothing changed."""
    start = time.monotonic()
    run("configure", ["cmake", "--preset", preset, *options])
    say(f"build: compiling into build/{preset}")
    only = ["--target", *targets] if targets else []
    run("build", ["cmake", "--build", "--preset", preset, "--parallel", jobs(), *only], env=COMPILER_CACHE, progress=Progress("build"))
    say(f"build: done in {duration(time.monotonic() - start)}")


def wheel_compilers() -> dict:
    """Variables by which pip compiles a wheel with what compiled build/release, so that the compiler's cache has all of it."""
    cache = RELEASE / "CMakeCache.txt"
    found = dict(re.findall(r"^(CMAKE_\w+):\w+=(.*)$", cache.read_text(encoding="utf-8"), re.M)) if cache.exists() else {}
    names = {"CMAKE_EXECUTABLE": "CMAKE_COMMAND", "CXX": "CMAKE_CXX_COMPILER", "CC": "CMAKE_C_COMPILER"}
    return {**COMPILER_CACHE, **{variable: found[name] for variable, name in names.items() if name in found}}


def main(action) -> None:
    """Runs a script's action; exit status 1 and a sentence if it fails."""
    try:
        sys.exit(action())
    except Failure as failure:
        print(f"{pathlib.Path(sys.argv[0]).name}: {failure}", file=sys.stderr, flush=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
