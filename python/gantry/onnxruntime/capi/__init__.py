# SPDX-License-Identifier: Apache-2.0
"""Where ONNX Runtime's users import its exceptions from, and settings of the process."""

from gantry.onnxruntime.capi import _pybind_state, onnxruntime_pybind11_state

__all__ = ["_pybind_state", "onnxruntime_pybind11_state"]
