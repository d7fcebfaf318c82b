# SPDX-License-Identifier: Apache-2.0
"""gantry: runs ONNX models on the devices that provider plugins bring.

    import gantry
    session = gantry.Session("model.onnx", device="CPU")
    outputs = session.run({"x": x})          # name -> numpy array

Nothing is opened on import; providers are found when first asked for and shared by all sessions of the process.
"""

from gantry._core import (
    Binding,
    CancelToken,
    CopyPlacement,
    Device,
    MemoryUse,
    NodePlacement,
    NodeTime,
    Placement,
    ProviderReport,
    Session,
    Tensor,
    ValueInfo,
    check,
    devices,
    log_level,
    report,
    set_log_level,
    supports_device,
)
from gantry._core import version as __version__
from gantry.errors import (
    AbiMismatchError,
    CancelledError,
    DeadlineExceededError,
    DeviceError,
    DeviceLostError,
    Error,
    InternalError,
    InvalidArgumentError,
    InvalidModelError,
    NotFoundError,
    OutOfMemoryError,
    ProviderCrashedError,
    UnavailableError,
    UnsupportedError,
)

__all__ = [
    "AbiMismatchError",
    "Binding",
    "CancelToken",
    "CancelledError",
    "CopyPlacement",
    "DeadlineExceededError",
    "Device",
    "DeviceError",
    "DeviceLostError",
    "Error",
    "InternalError",
    "InvalidArgumentError",
    "InvalidModelError",
    "MemoryUse",
    "NodePlacement",
    "NodeTime",
    "NotFoundError",
    "OutOfMemoryError",
    "Placement",
    "ProviderCrashedError",
    "ProviderReport",
    "Session",
    "Tensor",
    "UnavailableError",
    "UnsupportedError",
    "ValueInfo",
    "__version__",
    "check",
    "devices",
    "log_level",
    "report",
    "set_log_level",
    "supports_device",
]
