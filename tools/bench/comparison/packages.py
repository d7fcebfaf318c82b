# SPDX-License-Identifier: Apache-2.0
"""What only the comparison needs, fetched when it is first asked for: OpenVINO, in a folder of its own beside the shared environment."""

import os
import shutil

from workspace import BUILD, PYTHON, RELEASE, Failure, run, say

OPENVINO = "openvino==2026.4.1"
FOLDER = BUILD / "bench" / "packages"


def bring_openvino():
    """Installs the pinned version unless it is there. Without dependencies: NumPy is the shared environment's, and the others are for
    converting models only."""
    stamp = FOLDER / "gantry.stamp"
    if stamp.is_file() and stamp.read_text() == OPENVINO:
        return
    say(f"compare: fetching {OPENVINO}, once")
    shutil.rmtree(FOLDER, ignore_errors=True)
    run("bench packages", [PYTHON, "-m", "pip", "install", "--quiet", "--no-input", "--no-deps", "--only-binary", ":all:", "--target", FOLDER, OPENVINO])
    stamp.write_text(OPENVINO)


def environment():
    """For a worker: this checkout's build of gantry comes first, wherever the shared environment points."""
    module = RELEASE / "python"
    if not (module / "gantry").is_dir():
        raise Failure("build/release has no Python module to measure; build it first: tools/quickstart")
    paths = [str(module), str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
