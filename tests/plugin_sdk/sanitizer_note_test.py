# SPDX-License-Identifier: Apache-2.0
"""The note of a library says which sanitizer it was built with, whichever compiler built it: the host asks before it opens the library."""

import pathlib
import subprocess

import pytest

SDK = pathlib.Path(__file__).resolve().parents[2] / "plugin_sdk" / "include"
NUMBERS = {(): "0", ("-fsanitize=address",): "1", ("-fsanitize=thread",): "2", ("-fsanitize=undefined",): "0"}


@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
@pytest.mark.parametrize("options", NUMBERS)
def test_the_note_names_the_sanitizer(compiler, options):
    done = subprocess.run([compiler, *options, "-xc", "-E", "-P", "-I", SDK, "-"], input="#include <gantry/provider.h>\nnumber: GANTRY_SANITIZER\n",
                          capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"number: {NUMBERS[options]}"
