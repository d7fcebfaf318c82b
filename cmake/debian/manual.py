# SPDX-License-Identifier: Apache-2.0
"""Writes the manual page of the command gantry, made of what it says about itself: COMMAND VERSION.

The page goes to standard output: the commands of `COMMAND --help`, then each command's own help.
"""

import subprocess
import sys

COLUMN = 30  # of the explanations, behind the names


def help_of(command: str, *words: str) -> list:
    """The lines of `gantry WORDS --help`."""
    return subprocess.run([command, *words, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout.splitlines()


def sections(lines: list) -> dict:
    """The rows of "Positionals:", "Options:" and "Subcommands:", each a name and what is said of it."""
    found, rows = {}, []
    for line in lines:
        if line.endswith(":") and not line.startswith(" "):
            rows = found.setdefault(line[:-1], [])
        elif line.startswith(" " * COLUMN):
            rows[-1] = (rows[-1][0], line.strip())
        elif line.startswith("  "):
            is_short = line[COLUMN - 1:COLUMN] in ("", " ")
            rows.append((line[:COLUMN].strip(), line[COLUMN:].strip()) if is_short else (line.strip(), ""))
    return found


def roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def paragraphs(rows: list) -> list:
    return [line for name, text in rows for line in (".TP", f".B {roff(name)}", roff(text))]


def commands(command: str, *words: str) -> list:
    """What is said of a command, and of those in it."""
    lines = help_of(command, *words)
    found = sections(lines)
    usage = next(line for line in lines if line.startswith("Usage: "))
    page = [f".SS {roff(usage.removeprefix('Usage: '))}", roff(lines[0])]
    page += paragraphs([row for name in ("Positionals", "Options") for row in found.get(name, []) if not row[0].startswith("-h,")])
    for name, _ in found.get("Subcommands", []):
        page += commands(command, *words, name)
    return page


def manual(command: str, version: str) -> list:
    lines = help_of(command)
    found = sections(lines)
    page = [f'.TH GANTRY 1 "" "gantry {version}" "User Commands"', ".SH NAME", "gantry \\- run ONNX models on the devices of provider plugins",
            ".SH SYNOPSIS", ".B gantry", "COMMAND [OPTIONS]", ".SH DESCRIPTION", roff(lines[0]), ".SH COMMANDS"]
    for name, _ in found["Subcommands"]:
        page += commands(command, name)
    page += [".SH OPTIONS", *paragraphs(found["Options"])]
    return page + [".SH EXIT STATUS", roff(lines[-1].removeprefix("Exit status: "))]


if __name__ == "__main__":
    print("\n".join(manual(*sys.argv[1:])))
