# SPDX-License-Identifier: Apache-2.0
"""Makes the helpers in tests/support importable, and enters an environment in which nothing is the user's."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "support"))

import clean_environment  # noqa: E402: found since the line before

clean_environment.enter()  # before a test imports gantry, which reads variables once
