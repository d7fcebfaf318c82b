# SPDX-License-Identifier: Apache-2.0
"""The commonly used part of ONNX Runtime's Python API, on gantry's devices.

    import gantry.onnxruntime as ort

    session = ort.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    (y,) = session.run(["y"], {"x": x})

A device TYPE of gantry is the provider "TYPEExecutionProvider": "CPUExecutionProvider" is CPU, "CUDAExecutionProvider" CUDA. What is not
supported is an error, or a warning if results are not affected. docs/python.md lists what is supported.
"""

from typing import Any

from gantry import __version__
from gantry.onnxruntime import capi
from gantry.onnxruntime.binding import IOBinding
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
    preload_dlls,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
)
from gantry.onnxruntime.session import InferenceSession, ModelMetadata, NodeArg, get_available_providers, get_device
from gantry.onnxruntime.values import OrtValue

__all__ = [
    "ExecutionMode",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
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
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "__version__",
    "capi",
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
    "preload_dlls",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
]

get_all_providers = get_available_providers


def __getattr__(name: str) -> Any:
    raise AttributeError(f"gantry.onnxruntime has no {name}; it has {', '.join(sorted(__all__))}")
