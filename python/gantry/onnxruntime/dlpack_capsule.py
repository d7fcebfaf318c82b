# SPDX-License-Identifier: Apache-2.0
"""Capsules of DLPack that a program has taken from their tensor already."""

import ctypes
from typing import Any

from gantry.errors import InvalidArgumentError

__all__ = ["DlpackCapsule"]

_NAME = b"dltensor"  # of a capsule that nobody has taken yet


class _Tensor(ctypes.Structure):
    """The beginning of DLManagedTensor: an address, the type of its device, the device's number."""

    _fields_ = (("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class DlpackCapsule:
    """The capsule as an object that libraries take tensors from.

    InvalidArgumentError: it is no capsule of DLPack, or a library has taken its tensor.
    """

    def __init__(self, capsule: Any) -> None:
        api = ctypes.pythonapi
        api.PyCapsule_IsValid.argtypes = (ctypes.py_object, ctypes.c_char_p)
        api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
        api.PyCapsule_GetPointer.restype = ctypes.POINTER(_Tensor)
        if not api.PyCapsule_IsValid(capsule, _NAME):
            raise InvalidArgumentError(f"from_dlpack: expected an object with __dlpack__ or a capsule that nobody has taken, found a {type(capsule).__name__}")
        tensor = api.PyCapsule_GetPointer(capsule, _NAME).contents
        self._device = (tensor.device_type, tensor.device_id)
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device
