# SPDX-License-Identifier: Apache-2.0
"""`python -m gantry.onnxruntime PROGRAM ...` runs a program that imports onnxruntime with gantry in its place; `-m MODULE ...` a module."""

import os
import runpy
import sys

from gantry.onnxruntime.in_place import put_in_place


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["-m"]:
        print("usage: python -m gantry.onnxruntime [-m MODULE | PROGRAM] [ARGUMENT ...]\nRuns a Python program with gantry where it imports onnxruntime.",
              file=sys.stdout if arguments[:1] in (["-h"], ["--help"]) else sys.stderr)
        sys.exit(0 if arguments[:1] in (["-h"], ["--help"]) else 2)
    put_in_place()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


main()
