# SPDX-License-Identifier: Apache-2.0
"""The provider as a file: how large it is."""

import os
import pathlib

import pytest

MOST_BYTES = 25_000_000


def test_is_small():
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("a build with a sanitizer is larger")
    manifest = pathlib.Path(os.environ["GANTRY_PROVIDER_FILES"])
    assert (manifest.parent / "libgantry_cpu.so").stat().st_size < MOST_BYTES
