# SPDX-License-Identifier: Apache-2.0
"""The command `gantry` of an installed package: becomes the program that the package carries."""

import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).parent / "bin" / "gantry"
    os.execv(program, [str(program), *sys.argv[1:]])
