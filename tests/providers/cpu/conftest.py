# SPDX-License-Identifier: Apache-2.0
"""These tests are of the provider `cpu` alone: another provider of the device would take some of their nodes."""

import pytest

import gantry


@pytest.fixture(scope="session", autouse=True)
def only_cpu():
    others = {device.provider for device in gantry.devices() if device.type == "CPU"} - {"cpu"}
    if others:
        pytest.exit(f"tests/providers/cpu needs a process in which `cpu` is the only provider of CPU, and found {', '.join(sorted(others))}: "
                    "set GANTRY_PROVIDER_FILES to lib/gantry/providers.d/cpu.json of the build folder, as tools/test does.", 2)
