# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's module for exceptions and process-wide settings."""

from gantry.onnxruntime.capi import _pybind_state, onnxruntime_inference_collection, onnxruntime_pybind11_state

__all__ = ["_pybind_state", "onnxruntime_inference_collection", "onnxruntime_pybind11_state"]
