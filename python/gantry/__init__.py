# SPDX-License-Identifier: Apache-2.0
"""gantry: runs ONNX models on the devices of provider plugins.

    import gantry
    session = gantry.Session("model.onnx", device="CPU")
    outputs = session.run({"x": x})          # name -> numpy array

Importing opens no provider. Providers are loaded on first use and shared by all sessions of the process.
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
    write_optimized,
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


def register_backend(device_type: str, backend: object, *, device: str = "CPU") -> None:
    """Makes a class with ONNX's Backend interface a device of this process.

    A session selects the device by its name ("MYDEV") and may combine it with others. It runs the nodes that `is_compatible` accepts. gantry calls
    `is_compatible` for the whole graph and, if that is refused, for each node as a model of its own; weights above 1 KiB are inputs of these
    models. `prepare(model, device)` is called when a session is created. It returns an object whose `run(inputs)` returns arrays in the order of
    the model's outputs. Inputs are read-only numpy arrays over the session's memory, valid until `run` returns; a class that retains them gets
    copies instead.

    device_type: letters, digits and "_", as "MYDEV". InvalidArgumentError: another character, or the type is registered already.
    backend: a class or object with the methods is_compatible(model, device) and prepare(model, device) of onnx.backend.base.Backend; without
        is_compatible it accepts every node. InvalidArgumentError: it has no prepare.
    device: the `device` argument of both methods.

    >>> gantry.register_backend("REFERENCE", onnx.reference.ReferenceEvaluatorBackend)
    """
    from gantry import backend_devices  # imported here, as most programs register no backend

    backend_devices.register_backend(device_type, backend, device=device)


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
    "register_backend",
    "report",
    "set_log_level",
    "supports_device",
    "write_optimized",
]
