# SPDX-License-Identifier: Apache-2.0
"""The `gantry` command line as a user calls it."""

import json
import os
import pathlib
import subprocess

BINARY = pathlib.Path(os.environ.get("GANTRY_BINARY", pathlib.Path(__file__).parents[2] / "build" / "release" / "bin" / "gantry"))

GOOD, NO, USAGE, ERROR = 0, 1, 2, 3


def gantry(*arguments, status=GOOD, env=None):
    """Runs a command, requires its exit status, and returns what it printed: (standard output, standard error)."""
    command = [str(BINARY), *(str(argument) for argument in arguments)]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                            env={**os.environ, **(env or {})}, check=False)
    assert result.returncode == status, f"{command} ended with {result.returncode}:\n{result.stdout}\n{result.stderr}"
    return result.stdout, result.stderr


def facts(*arguments, status=GOOD, env=None):
    """The JSON that a command prints."""
    return json.loads(gantry(*arguments, "--json", status=status, env=env)[0])


def complaint(*arguments, status=ERROR, env=None):
    """The one sentence of a command that fails, without its `gantry: `."""
    output, error = gantry(*arguments, status=status, env=env)
    assert output == ""
    assert error.startswith("gantry: ") and error.endswith("\n") and error.count("\n") == 1, error
    return error.removeprefix("gantry: ").rstrip("\n")
