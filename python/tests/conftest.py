# SPDX-License-Identifier: Apache-2.0
"""Makes the helpers in tests/support importable."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "support"))
