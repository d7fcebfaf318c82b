# SPDX-License-Identifier: Apache-2.0
"""The same under the name by which ONNX Runtime's own Python files import it."""

from gantry.onnxruntime.capi import onnxruntime_pybind11_state
from gantry.onnxruntime.capi.onnxruntime_pybind11_state import *  # noqa: F403 - the names of its __all__

__all__ = onnxruntime_pybind11_state.__all__
