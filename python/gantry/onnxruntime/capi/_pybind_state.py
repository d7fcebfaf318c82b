# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's module that has the functions, classes and exceptions of its C++ module."""

from gantry.onnxruntime.capi.onnxruntime_pybind11_state import *  # noqa: F403 - the names of its __all__
from gantry.onnxruntime.options import ExecutionMode, GraphOptimizationLevel, RunOptions, SessionOptions
from gantry.onnxruntime.process import (
    disable_telemetry_events,
    enable_telemetry_events,
    get_build_info,
    get_version_string,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_seed,
)
from gantry.onnxruntime.session import ModelMetadata, NodeArg, get_available_providers, get_device

__all__ = [
    "ExecutionMode",
    "GraphOptimizationLevel",
    "ModelMetadata",
    "NodeArg",
    "RunOptions",
    "SessionOptions",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
]

get_all_providers = get_available_providers
