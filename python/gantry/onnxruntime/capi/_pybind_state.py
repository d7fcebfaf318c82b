# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's module that has the functions, classes and exceptions of its C++ module."""

from gantry.onnxruntime.capi.onnxruntime_pybind11_state import *  # noqa: F403 - the names of its __all__
from gantry.onnxruntime.devices import (
    OrtAllocatorType,
    OrtArenaCfg,
    OrtDevice,
    OrtEpDevice,
    OrtHardwareDevice,
    OrtHardwareDeviceType,
    OrtMemType,
    OrtMemoryInfo,
    create_and_register_allocator,
    create_and_register_allocator_v2,
    get_ep_devices,
)
from gantry.onnxruntime.options import ExecutionMode, GraphOptimizationLevel, RunOptions, SessionOptions
from gantry.onnxruntime.process import (
    disable_telemetry_events,
    enable_telemetry_events,
    get_build_info,
    get_version_string,
    has_collective_ops,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
)
from gantry.onnxruntime.session import ModelMetadata, NodeArg, get_available_providers, get_device

__all__ = [
    "ExecutionMode",
    "GraphOptimizationLevel",
    "ModelMetadata",
    "NodeArg",
    "OrtAllocatorType",
    "OrtArenaCfg",
    "OrtDevice",
    "OrtEpDevice",
    "OrtHardwareDevice",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfo",
    "RunOptions",
    "SessionOptions",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_ep_devices",
    "get_version_string",
    "has_collective_ops",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
]

get_all_providers = get_available_providers
