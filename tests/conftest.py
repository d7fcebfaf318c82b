# SPDX-License-Identifier: Apache-2.0
"""Makes the helpers in tests/support importable, and enters an environment in which nothing is the user's."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))

import clean_environment  # noqa: E402: found since the line before

clean_environment.enter()  # before a test imports gantry, which reads variables once

import sanitizer  # noqa: E402: reads the clean environment

if sanitizer.NAME == "memory":

    @pytest.fixture(autouse=True)
    def found_by_memcheck():
        """Fails a test in which memory was read before it was written, or where there is none."""
        before = len(sanitizer.found_by_memcheck())
        yield
        found = sanitizer.found_by_memcheck()[before:]
        if found:
            pytest.fail(found)
