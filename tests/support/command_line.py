# SPDX-License-Identifier: Apache-2.0
"""The `gantry` command line as a user calls it."""

import fcntl
import json
import os
import pathlib
import pty
import struct
import subprocess
import termios

import pytest
from sanitizer import PATIENCE

BINARY = pathlib.Path(os.environ.get("GANTRY_BINARY", pathlib.Path(__file__).parents[2] / "build" / "release" / "bin" / "gantry"))

GOOD, NO, USAGE, ERROR = 0, 1, 2, 3


def gantry(*arguments, status=GOOD, env=None):
    """Runs a command, requires its exit status, and returns what it printed: (standard output, standard error)."""
    command = [str(BINARY), *(str(argument) for argument in arguments)]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120 * PATIENCE,
                            env={**os.environ, **(env or {})}, check=False)
    assert result.returncode == status, f"{command} ended with {result.returncode}:\n{result.stdout}\n{result.stderr}"
    return result.stdout, result.stderr


def on_terminal(*arguments, columns=80, env=None):
    """What a command prints on a terminal of that width, colors and all; requires that it succeeds. Skips where there are none."""
    try:
        ours, its = pty.openpty()
    except OSError as error:  # /dev/pts is not mounted, as in a plain chroot
        pytest.skip(f"this system has no pseudo-terminals: {error}")
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**{key: text for key, text in os.environ.items() if key != "NO_COLOR"}, "TERM": "xterm", **(env or {})}
    process = subprocess.Popen([str(BINARY), *(str(argument) for argument in arguments)], stdin=subprocess.DEVNULL, stdout=its, env=environment)
    os.close(its)
    output = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how a terminal says that nobody writes any more
            break
        if not part:
            break
        output += part
    os.close(ours)
    assert process.wait(timeout=120) == GOOD
    return output.decode().replace("\r\n", "\n")


def facts(*arguments, status=GOOD, env=None):
    """The JSON that a command prints."""
    return json.loads(gantry(*arguments, "--json", status=status, env=env)[0])


def complaint(*arguments, status=ERROR, env=None):
    """The one sentence of a command that fails, without its `gantry: `."""
    output, error = gantry(*arguments, status=status, env=env)
    assert output == ""
    assert error.startswith("gantry: ") and error.endswith("\n") and error.count("\n") == 1, error
    return error.removeprefix("gantry: ").rstrip("\n")
