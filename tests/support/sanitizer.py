# SPDX-License-Identifier: Apache-2.0
"""The sanitizer that the tests run under (`tools/test --sanitize`), and what cannot be asked of them then."""

import os
import pathlib

import pytest

# Where memcheck writes what it finds, a file for each process.
MEMCHECK_LOGS = os.environ.get("MEMCHECK_LOGS")

NAME = "memory" if MEMCHECK_LOGS else next(
    (name for name, library in (("address", "libasan"), ("thread", "libtsan")) if library in os.environ.get("LD_PRELOAD", "")), "")

# How much longer something may take before it counts as stuck.
PATIENCE = 20 if NAME else 1

compares_times = pytest.mark.skipif(NAME != "", reason="a sanitizer makes our kernels slower, and not the library's")


def with_largest_allocation(size_bytes):
    """The environment of a child in which no allocation may be larger. Without a sanitizer it is as it is; a limit of the address space, which is then to be used,
    leaves no room for what a sanitizer maps."""
    if NAME in ("", "memory"):  # memcheck does not watch children
        return dict(os.environ)
    variable = {"address": "ASAN_OPTIONS", "thread": "TSAN_OPTIONS"}[NAME]
    return {**os.environ, variable: f"{os.environ.get(variable, '')}:max_allocation_size_mb={size_bytes >> 20}"}


def found_by_memcheck():
    """What it has said of this process so far."""
    log = pathlib.Path(MEMCHECK_LOGS, f"{os.getpid()}.log")
    return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""


def plain_environment():
    """The environment of a child that runs nothing of ours: without the sanitizer, under which Python alone takes many times as long."""
    return {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONMALLOC")}
