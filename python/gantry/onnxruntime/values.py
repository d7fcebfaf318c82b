# SPDX-License-Identifier: Apache-2.0
"""OrtValue: a value in host or device memory, with ONNX Runtime's type names."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gantry._core import Tensor, allocate_on, dtype_name, dtype_number, numpy_dtype
from gantry.errors import InvalidArgumentError
from gantry.onnxruntime.devices import OrtDevice
from gantry.onnxruntime.dlpack_capsule import DlpackCapsule
from gantry.onnxruntime.names import type_name
from gantry.onnxruntime.sparse import SparseTensor

__all__ = ["OrtValue", "OrtValueVector", "as_text", "copy_into", "copy_tensors", "device_of", "element_dtype"]

_HOST = (1, 0)  # in DLPack

def as_text(value: Any) -> Any:
    """Reads an array of objects (of pandas, for instance) as ONNX Runtime does: str() converts elements that are neither str nor bytes.

    An array of numpy.void, raw bytes, is text too.
    """
    if isinstance(value, np.ndarray) and value.dtype.type is np.void and value.dtype.names is None:
        return np.array([*(one.tobytes().rstrip(b"\0") for one in value.flat), None], object)[:-1].reshape(value.shape)
    if not isinstance(value, np.ndarray) or value.dtype != object or all(isinstance(one, (str, bytes)) for one in value.flat):
        return value
    texts = [one if isinstance(one, (str, bytes)) else str(one) for one in value.flat]
    return np.array([*texts, None], object)[:-1].reshape(value.shape)


def device_of(device_type: str | OrtDevice, device_id: int) -> str | None:
    """gantry's device string: "CUDA:0" for "cuda" and 0; None for host memory."""
    name, number = (device_type.name, device_type.device_id()) if isinstance(device_type, OrtDevice) else (device_type, device_id)
    return None if name.lower() == "cpu" else f"{name.upper()}:{number}"


def element_dtype(element_type: Any) -> np.dtype[Any]:
    """The numpy.dtype of a numpy type or an onnx.TensorProto number."""
    dtype: np.dtype[Any] = numpy_dtype(element_type) if isinstance(element_type, int) else np.dtype(element_type)
    return dtype


class OrtValue:
    """A tensor, a list of tensors, or a sparse tensor. In host memory it shares the memory of its array; in device memory it is a gantry.Tensor.

    >>> OrtValue.ortvalue_from_numpy(x, "cuda", 0).data_type()
    """

    def __init__(self, value: Any, numpy_obj: Any = None) -> None:
        """OrtValue(ortvalue, numpy_obj) is the form with which ONNX Runtime wraps one of its C++ module: the same value."""
        self._value: Any = value._value if isinstance(value, OrtValue) else value

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: np.ndarray[Any, Any], device_type: str | OrtDevice = "cpu", device_id: int = 0) -> "OrtValue":
        """An OrtValue of an array of any ONNX element type; copied if device_type is not "cpu" or the byte order is not native."""
        if not isinstance(numpy_obj, np.ndarray):
            raise InvalidArgumentError(f"numpy_obj: expected a numpy array, found a {type(numpy_obj).__name__}")
        if not numpy_obj.dtype.isnative:
            numpy_obj = numpy_obj.astype(numpy_obj.dtype.newbyteorder("="))
        dtype_name(numpy_obj.dtype)
        device = device_of(device_type, device_id)
        if device is None:
            return cls(numpy_obj)
        tensor = allocate_on(device, numpy_obj.dtype, numpy_obj.shape)
        tensor.copy_from(numpy_obj)
        return cls(tensor)

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray[Any, Any], onnx_element_type: int) -> "OrtValue":
        """An OrtValue of an array whose elements are the bits of an onnx.TensorProto type: uint16 for bfloat16. Shares its memory.

        InvalidArgumentError: the element sizes differ.

        >>> OrtValue.ortvalue_from_numpy_with_onnx_type(bits, onnx.TensorProto.BFLOAT16)
        """
        dtype = element_dtype(onnx_element_type)
        if data.dtype.itemsize != dtype.itemsize:
            raise InvalidArgumentError(f"onnx_element_type: elements of {dtype} have {dtype.itemsize} bytes, found an array of {data.dtype}")
        return cls.ortvalue_from_numpy(data.view(dtype))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls, shape: Sequence[int], element_type: Any, device_type: str | OrtDevice = "cpu", device_id: int = 0
    ) -> "OrtValue":
        """A tensor of zeros; element_type is a numpy type or an onnx.TensorProto number."""
        return cls.ortvalue_from_numpy(np.zeros(tuple(shape), element_dtype(element_type)), device_type, device_id)

    @classmethod
    def from_dlpack(cls, data: Any, is_bool_tensor: bool = False, /) -> "OrtValue":
        """An OrtValue that shares the memory of an object with __dlpack__, or of a capsule. is_bool_tensor: its uint8 elements are bools, which DLPack
        did not have for long. Device memory is imported by the session that binds or runs it.
        """
        source = data if hasattr(data, "__dlpack__") else DlpackCapsule(data)
        if tuple(source.__dlpack_device__()) != _HOST:
            return cls(source)
        array: np.ndarray[Any, Any] = np.from_dlpack(source)
        return cls(array.view(np.bool_) if is_bool_tensor else array)

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: SparseTensor) -> "OrtValue":
        """Sessions get it as a dense tensor."""
        return cls(sparse_tensor)

    def as_sparse_tensor(self) -> SparseTensor:
        """The sparse tensor; of a dense one in host memory, such as an output that the model declares as sparse, one in the COO format."""
        if isinstance(self._value, SparseTensor):
            return self._value
        return SparseTensor.of_dense(self.numpy())

    def numpy(self) -> np.ndarray[Any, Any]:
        """An array that shares the value's memory; a copy if it is device memory."""
        if isinstance(self._value, np.ndarray):
            return self._value
        if isinstance(self._value, Tensor):
            copied: np.ndarray[Any, Any] = self._value.numpy()
            return copied
        raise InvalidArgumentError(f"numpy(): expected a tensor, found {self._described()}")

    @property
    def value(self) -> Any:
        """The value as gantry.Session takes it."""
        return self._value.dense() if isinstance(self._value, SparseTensor) else self._value

    def shape(self) -> list[int]:
        return list(self._tensor().shape)

    def data_type(self) -> str:
        """ "tensor(float)" """
        if isinstance(self._value, SparseTensor):
            return self._value.data_type()
        if isinstance(self._value, list):
            return type_name("sequence", dtype_name(self._value[0].dtype) if self._value else "undefined")
        return type_name("tensor", self._dtype_name())

    def element_type(self) -> int:
        """Its number in onnx.TensorProto."""
        tensor = self._tensor()
        return dtype_number(tensor.dtype)

    def device_name(self) -> str:
        """ "cpu", "cuda" """
        return self._value.device.split(":")[0].lower() if isinstance(self._value, Tensor) else "cpu"

    def data_ptr(self) -> int:
        tensor = self._tensor()
        return tensor.address if isinstance(tensor, Tensor) else int(tensor.ctypes.data)

    def tensor_size_in_bytes(self) -> int:
        tensor = self._tensor()
        return tensor.size_bytes if isinstance(tensor, Tensor) else tensor.nbytes

    def has_value(self) -> bool:
        return self._value is not None

    def is_tensor(self) -> bool:
        return isinstance(self._value, (np.ndarray, Tensor)) or hasattr(self._value, "__dlpack__")

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._value, list)

    def is_sparse_tensor(self) -> bool:
        return isinstance(self._value, SparseTensor)

    def update_inplace(self, data: "np.ndarray[Any, Any] | OrtValue") -> None:
        """Copies the elements of a tensor of the same shape and element type into this one's memory."""
        source = data.value if isinstance(data, OrtValue) else data
        target = self._tensor()
        if isinstance(target, Tensor):
            target.copy_from(source)
        else:
            copy_into(target, source.numpy() if isinstance(source, Tensor) else source, "update_inplace")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if copy is None or isinstance(self._value, Tensor):  # a device tensor was copied just now
            return np.asarray(array, dtype=dtype)  # copies only if needed, also under NumPy 1, where copy=None is an error
        return np.array(array, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._value.__dlpack__(**options)

    def to_dlpack(self) -> Any:
        """A capsule that shares the value's memory; of a read-only array, which DLPack cannot tell, that of a copy."""
        is_read_only = isinstance(self._value, np.ndarray) and not self._value.flags.writeable
        return (self._value.copy() if is_read_only else self).__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self._value.__dlpack_device__()
        return device

    def _tensor(self) -> "np.ndarray[Any, Any] | Tensor":
        if isinstance(self._value, (np.ndarray, Tensor)):
            return self._value
        raise InvalidArgumentError(f"OrtValue: expected a tensor of gantry's or of NumPy, found {self._described()}")

    def _dtype_name(self) -> str:
        tensor = self._tensor()
        return tensor.dtype if isinstance(tensor, Tensor) else dtype_name(tensor.dtype)

    def _described(self) -> str:
        return f"a {self.data_type()}" if isinstance(self._value, list) else f"a {type(self._value).__name__}"


class OrtValueVector(list[OrtValue]):
    """A list of OrtValues, with the names that ONNX Runtime's has."""

    push_back = list.append

    def reserve(self, count: int) -> None:
        """Has no effect."""

    def shrink_to_fit(self) -> None:
        """Has no effect."""

    def element_type_at(self, index: int) -> int:
        return self[index].element_type()

    def dlpack_at(self, index: int) -> Any:
        return self[index].__dlpack__()

    def bool_tensor_indices(self) -> list[int]:
        return [index for index, value in enumerate(self) if value.is_tensor() and value.data_type() == "tensor(bool)"]


def copy_tensors(sources: Sequence[OrtValue], destinations: Sequence[OrtValue], stream: Any = None) -> None:
    """Copies each tensor into the one at the same position, of the same shape and element type. Returns when all are there; stream: no effect."""
    if len(sources) != len(destinations):
        raise InvalidArgumentError(f"copy_tensors: expected one destination for each of the {len(sources)} sources, found {len(destinations)}")
    for source, destination in zip(sources, destinations, strict=True):
        destination.update_inplace(source)


def copy_into(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any], subject: str) -> None:
    """InvalidArgumentError: shape or element type differ."""
    if (target.shape, target.dtype) != (source.shape, source.dtype):
        raise InvalidArgumentError(f"{subject}: expected {target.dtype}{list(target.shape)}, found {source.dtype}{list(source.shape)}")
    np.copyto(target, source)
