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


def register_backend(device_type: str, backend: object, *, device: str = "CPU") -> None:
    """Makes a class with ONNX's Backend interface a device of this process.

    Sessions name it as any other ("MYDEV"), and mix it with others: it gets the nodes that its `is_compatible` takes, asked for the whole graph
    and, if that is refused, for each node as a model of its own. In these questions weights of more than 1 KiB are inputs. What it is given it
    prepares when a session is made: `prepare(model, device)` has a `run(inputs)` that returns arrays in the order of the model's outputs.
    Inputs are numpy arrays over the session's memory, read-only, and valid until `run` returns; a class that keeps them gets copies instead.

    device_type: letters, digits and "_", as "MYDEV". InvalidArgumentError: it is none, or is registered already.
    backend: a class or object with is_compatible(model, device), prepare(model, device), as onnx.backend.base.Backend has them; without
        is_compatible it takes everything. InvalidArgumentError: it has no prepare.
    device: what the two are given as their device.

    >>> gantry.register_backend("REFERENCE", onnx.reference.ReferenceEvaluatorBackend)
    """
    from gantry import backend_devices  # here, since a program that registers nothing need not wait for it

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
]
