# SPDX-License-Identifier: Apache-2.0
"""Warnings that point at the program."""

import sys
import warnings

__all__ = ["warn"]


def warn(text: str) -> None:
    """Warns with the location of the caller of gantry.onnxruntime, at any depth."""
    depth = 2
    while sys._getframe(depth - 1).f_globals.get("__name__", "").startswith("gantry.onnxruntime."):
        depth += 1
    warnings.warn(f"gantry.onnxruntime: {text}", UserWarning, stacklevel=depth)
