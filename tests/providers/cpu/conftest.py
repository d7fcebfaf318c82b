# SPDX-License-Identifier: Apache-2.0
"""These tests are of the provider `cpu` alone: another provider of the device would take some of their nodes."""

import os
import pathlib
import sys

import pytest

BINARY = pathlib.Path(os.environ.get("GANTRY_BINARY", pathlib.Path(__file__).parents[3] / "build" / "release" / "bin" / "gantry"))
if "gantry" not in sys.modules:  # which reads the variable when it is imported
    os.environ.setdefault("GANTRY_PROVIDER_FILES", str(BINARY.parents[1] / "lib" / "gantry" / "providers.d" / "cpu.json"))

import gantry  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def only_cpu():
    others = {device.provider for device in gantry.devices() if device.type == "CPU"} - {"cpu"}
    if others:
        pytest.exit(f"tests/providers/cpu needs a process in which `cpu` is the only provider of CPU, and found {', '.join(sorted(others))}: "
                    "run this folder by itself, as tools/test does.", 2)
