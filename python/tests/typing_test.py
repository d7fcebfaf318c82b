# SPDX-License-Identifier: Apache-2.0
"""The package's types: mypy finds nothing in it, and sees what a user's program has wrong."""

import pathlib
import subprocess
import sys

import gantry

PACKAGE = pathlib.Path(gantry.__file__).parent

PROGRAM = """
import gantry
import gantry.backend

session = gantry.Session("model.onnx", device="CPU", config={"session": {"threads": 2}}, profile=True)
reveal_type(session.run({"x": [1]}, ["y"], timeout=2.0))
reveal_type(session.inputs[0].shape)
reveal_type(session.profile()[0].total_ns)
reveal_type(gantry.check("model.onnx").nodes[0].reason)
reveal_type(gantry.backend.is_compatible)
gantry.Session(5)
session.run([1])
raise gantry.NotFoundError("x")
"""


def mypy(*arguments, cwd):
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={PACKAGE.parent / '.mypy_cache'}", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env={"MYPYPATH": str(PACKAGE.parent)})


def test_package_is_typed():
    assert (PACKAGE / "py.typed").exists()
    done = mypy("--python-version", "3.10", "-p", "gantry", cwd=PACKAGE.parent)  # the oldest that the wheel is for
    assert done.stdout.startswith("Success"), done.stdout + done.stderr


def test_a_program_is_checked(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    lines = mypy("program.py", cwd=tmp_path).stdout.splitlines()
    revealed = [line.split('Revealed type is "')[1].rstrip('"') for line in lines if "Revealed" in line]
    assert [text.replace("builtins.", "") for text in revealed[:4]] == ["dict[str, Any]", "list[int | str | None] | None", "int", "str"]
    assert revealed[4].endswith("-> builtins.bool") or revealed[4].endswith("-> bool"), revealed[4]
    errors = [line for line in lines if ": error: " in line]
    assert len(errors) == 2, lines
    assert 'Argument 1 to "Session" has incompatible type "int"' in errors[0]
    assert 'Argument 1 to "run" of "Session" has incompatible type "list[int]"' in errors[1]
