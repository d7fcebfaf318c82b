# SPDX-License-Identifier: Apache-2.0
"""Where ONNX Runtime's users import its exceptions from."""

from gantry.onnxruntime.capi import onnxruntime_pybind11_state

__all__ = ["onnxruntime_pybind11_state"]
