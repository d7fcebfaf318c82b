# SPDX-License-Identifier: Apache-2.0
"""OrtValue: a value in host memory, with ONNX Runtime's names for types."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gantry._core import dtype_name, dtype_number, numpy_dtype
from gantry.errors import InvalidArgumentError, UnsupportedError

__all__ = ["OrtValue", "copy_into", "element_dtype", "expect_host", "type_name"]

# Where ONNX Runtime's name of an element type is not gantry's.
_NAMES = {
    "float32": "float",
    "float64": "double",
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e4m3fnuz": "float8e4m3fnuz",
    "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz",
    "float4_e2m1fn": "float4e2m1",
    "float6_e2m3fn": "float6e2m3",
    "float6_e3m2fn": "float6e3m2",
}


def type_name(kind: str, dtype: str) -> str:
    """ "tensor(float)" of gantry's kind and element type."""
    tensor = f"tensor({_NAMES.get(dtype, dtype)})"
    return {"sequence": f"seq({tensor})", "optional": f"optional({tensor})", "map": f"map({tensor})"}.get(kind, tensor)


def expect_host(device_type: str) -> None:
    """UnsupportedError: the memory of another device is asked for."""
    if device_type.lower() != "cpu":
        raise UnsupportedError(f'device_type "{device_type}": values of gantry.onnxruntime are in host memory; pass "cpu"')


def element_dtype(element_type: Any) -> np.dtype[Any]:
    """The numpy.dtype of a numpy type, or of a number of onnx.TensorProto."""
    dtype: np.dtype[Any] = numpy_dtype(element_type) if isinstance(element_type, int) else np.dtype(element_type)
    return dtype


class OrtValue:
    """A tensor, or a list of tensors, in host memory. A tensor shares the memory of the array it is made of.

    >>> OrtValue.ortvalue_from_numpy(x).data_type()
    """

    def __init__(self, value: Any) -> None:
        self._value = value

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: np.ndarray[Any, Any], device_type: str = "cpu", device_id: int = 0) -> "OrtValue":
        """Of an array of any element type that ONNX has; device_type is "cpu"."""
        expect_host(device_type)
        if not isinstance(numpy_obj, np.ndarray):
            raise InvalidArgumentError(f"numpy_obj: expected a numpy array, found a {type(numpy_obj).__name__}")
        dtype_name(numpy_obj.dtype)
        return cls(numpy_obj)

    @classmethod
    def ortvalue_from_shape_and_type(
        cls, shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> "OrtValue":
        """Zeros; element_type is a numpy type or a number of onnx.TensorProto."""
        expect_host(device_type)
        return cls(np.zeros(tuple(shape), element_dtype(element_type)))

    @classmethod
    def from_dlpack(cls, data: Any, /) -> "OrtValue":
        """Of an object that has __dlpack__, sharing its memory."""
        return cls(np.from_dlpack(data))

    def numpy(self) -> np.ndarray[Any, Any]:
        """The array; its memory is the value's."""
        if not isinstance(self._value, np.ndarray):
            raise InvalidArgumentError(f"numpy(): the value is a {self.data_type()}, no tensor")
        return self._value

    @property
    def value(self) -> Any:
        """As gantry.Session takes it."""
        return self._value

    def shape(self) -> list[int]:
        return list(self.numpy().shape)

    def data_type(self) -> str:
        """ "tensor(float)" """
        if isinstance(self._value, list):
            return type_name("sequence", dtype_name(self._value[0].dtype) if self._value else "undefined")
        return type_name("tensor", dtype_name(self.numpy().dtype))

    def element_type(self) -> int:
        """Its number in onnx.TensorProto."""
        return dtype_number(self.numpy().dtype)

    def device_name(self) -> str:
        return "cpu"

    def data_ptr(self) -> int:
        return int(self.numpy().ctypes.data)

    def tensor_size_in_bytes(self) -> int:
        return self.numpy().nbytes

    def has_value(self) -> bool:
        return self._value is not None

    def is_tensor(self) -> bool:
        return isinstance(self._value, np.ndarray)

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._value, list)

    def is_sparse_tensor(self) -> bool:
        return False

    def update_inplace(self, data: "np.ndarray[Any, Any] | OrtValue") -> None:
        """Copies the elements of an array of the same shape and element type into this one's memory."""
        source = data.numpy() if isinstance(data, OrtValue) else data
        copy_into(self.numpy(), source, "update_inplace")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.numpy().__dlpack_device__()


def copy_into(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any], subject: str) -> None:
    """InvalidArgumentError: shape or element type differ."""
    if (target.shape, target.dtype) != (source.shape, source.dtype):
        raise InvalidArgumentError(f"{subject}: expected {target.dtype}{list(target.shape)}, found {source.dtype}{list(source.shape)}")
    np.copyto(target, source)
