# SPDX-License-Identifier: Apache-2.0
"""The exceptions of gantry: one class for each error code, all of them an Error."""


class Error(RuntimeError):
    """Base of gantry's exceptions. The message names the subject, what was expected and what was found."""

    code = "UNKNOWN"


class InvalidArgumentError(Error, ValueError):
    """An invalid argument: an input's name, type or shape, a device string, a configuration."""

    code = "INVALID_ARGUMENT"


class InvalidModelError(Error):
    """The model breaks a rule of ONNX."""

    code = "INVALID_MODEL"


class UnsupportedError(Error):
    """Valid, but nothing here runs it."""

    code = "UNSUPPORTED"


class NotFoundError(Error, LookupError):
    """A file, provider, device or name does not exist."""

    code = "NOT_FOUND"


class UnavailableError(Error):
    """It exists, but cannot be used now."""

    code = "UNAVAILABLE"


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""

    code = "OUT_OF_MEMORY"


class AbiMismatchError(Error):
    """gantry and a provider have incompatible versions."""

    code = "ABI_MISMATCH"


class DeviceError(Error):
    """A device failed."""

    code = "DEVICE_ERROR"


class DeviceLostError(DeviceError):
    """A device was lost and cannot be used any more."""

    code = "DEVICE_LOST"


class ProviderCrashedError(Error):
    """A provider's process ended."""

    code = "PROVIDER_CRASHED"


class CancelledError(Error):
    """The run was cancelled."""

    code = "CANCELLED"


class DeadlineExceededError(Error, TimeoutError):
    """The run did not end in time."""

    code = "DEADLINE_EXCEEDED"


class InternalError(Error):
    """A bug in gantry or in a provider; please report it."""

    code = "INTERNAL"
