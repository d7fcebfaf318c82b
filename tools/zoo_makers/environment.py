# SPDX-License-Identifier: Apache-2.0
"""The Python environment of tools/zoo and tools/suites, build/zoo/env: exporters and frameworks, which gantry itself does not need."""

import pathlib
import subprocess
import sys

from workspace import BUILD, say

FOLDER = BUILD / "zoo" / "env"
PYTHON = FOLDER / "bin" / "python"
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")


def set_up() -> None:
    """Makes it, unless it was made of the same requirements."""
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    mark = FOLDER / "made_of.txt"
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return
    say("making build/zoo/env, of 9 GB")
    subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER], check=True)
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--no-input", "-r", REQUIREMENTS], check=True)
    mark.write_text(wanted, encoding="utf-8")
