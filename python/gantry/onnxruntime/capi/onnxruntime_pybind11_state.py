# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's C++ module: its functions, classes and exceptions. The exceptions are gantry's; Fail and RuntimeException are the base class."""

from gantry.errors import DeviceError as EPFail
from gantry.errors import DeviceLostError as DeviceReset
from gantry.errors import Error as Fail
from gantry.errors import Error as RuntimeException
from gantry.errors import InvalidArgumentError as InvalidArgument
from gantry.errors import InvalidModelError as InvalidGraph
from gantry.errors import InvalidModelError as InvalidProtobuf
from gantry.errors import NotFoundError as NoSuchFile
from gantry.errors import NotFoundError as NotFound
from gantry.errors import UnsupportedError as NotImplemented  # the name is ONNX Runtime's
from gantry.onnxruntime.binding import IOBinding as SessionIOBinding
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
from gantry.onnxruntime.values import OrtValue, OrtValueVector

__all__ = [
    "DeviceReset",
    "EPFail",
    "ExecutionMode",
    "Fail",
    "GraphOptimizationLevel",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "ModelMetadata",
    "NoSuchFile",
    "NodeArg",
    "NotFound",
    "NotImplemented",
    "OrtAllocatorType",
    "OrtArenaCfg",
    "OrtDevice",
    "OrtEpDevice",
    "OrtHardwareDevice",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfo",
    "OrtValue",
    "OrtValueVector",
    "RunOptions",
    "RuntimeException",
    "SessionIOBinding",
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
