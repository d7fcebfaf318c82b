# SPDX-License-Identifier: Apache-2.0
"""SparseTensor: a tensor as its values that are not zero, in one of two formats. Sessions compute with dense tensors and get it as one."""

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from gantry._core import dtype_name
from gantry.errors import InvalidArgumentError, UnsupportedError
from gantry.onnxruntime.devices import OrtDevice
from gantry.onnxruntime.names import element_name

__all__ = ["OrtSparseFormat", "SparseCooView", "SparseCsrView", "SparseTensor"]

Array = np.ndarray[Any, Any]


class OrtSparseFormat(enum.IntEnum):
    ORT_SPARSE_UNDEFINED = 0
    ORT_SPARSE_COO = 1
    ORT_SPARSE_CSRC = 2
    ORT_SPARSE_BLOCK_SPARSE = 4


def _read_only(array: Array) -> Array:
    view: Array = array.view()
    view.flags.writeable = False
    return view


def _check(subject: str, holds: bool, expected: str, found: Any) -> None:
    if not holds:
        raise InvalidArgumentError(f"SparseTensor: {subject}: expected {expected}, found {found}")


class SparseCooView:
    """The positions of the values, [values] in the flattened tensor or [values, 2] as rows and columns."""

    def __init__(self, indices: Array) -> None:
        self._indices = indices

    def indices(self) -> Array:
        return _read_only(self._indices)


class SparseCsrView:
    """The column of each value, and for each row where its values begin, with their number behind the last row."""

    def __init__(self, inner: Array, outer: Array) -> None:
        self._inner, self._outer = inner, outer

    def inner(self) -> Array:
        return _read_only(self._inner)

    def outer(self) -> Array:
        return _read_only(self._outer)


class SparseTensor:
    """A tensor of `dense_shape` of which only `values` are not zero (not "", of text). It shares the memory of the arrays it is made of.

    >>> SparseTensor.sparse_coo_from_numpy([3, 3], np.float32([1, 2]), np.int64([0, 4]), OrtDevice.make("cpu", 0))
    """

    def __init__(self, dense_shape: Sequence[int], values: Array, view: SparseCooView | SparseCsrView) -> None:
        """Use sparse_coo_from_numpy and sparse_csr_from_numpy, which check what they are given."""
        self._shape = [int(extent) for extent in dense_shape]
        self._values = values
        self._view = view

    @classmethod
    def sparse_coo_from_numpy(cls, dense_shape: Sequence[int], values: Array, coo_indices: Array, ort_device: OrtDevice) -> "SparseTensor":
        """coo_indices: int64, [values] or [values, 2], see SparseCooView.

        Raises InvalidArgumentError: shapes that do not fit, a position outside of the tensor; UnsupportedError: memory of another device.
        """
        _check_parts(dense_shape, values, {"coo_indices": coo_indices}, ort_device)
        count, size = len(values), int(np.prod(dense_shape, dtype=np.int64))
        is_linear = coo_indices.shape == (count,)
        _check("coo_indices", is_linear or (coo_indices.shape == (count, 2) and len(dense_shape) == 2), f"[{count}], or [{count}, 2] for a matrix",
               list(coo_indices.shape))
        limits = np.array([size] if is_linear else list(dense_shape))
        _check("coo_indices", not count or bool((coo_indices >= 0).all() and (coo_indices < limits).all()), f"positions in {list(dense_shape)}",
               "others")
        return cls(dense_shape, values, SparseCooView(coo_indices))

    @classmethod
    def sparse_csr_from_numpy(
        cls, dense_shape: Sequence[int], values: Array, inner_indices: Array, outer_indices: Array, ort_device: OrtDevice
    ) -> "SparseTensor":
        """inner_indices, outer_indices: int64, see SparseCsrView. Raises as sparse_coo_from_numpy."""
        _check_parts(dense_shape, values, {"inner_indices": inner_indices, "outer_indices": outer_indices}, ort_device)
        count = len(values)
        _check("dense_shape", len(dense_shape) == 2, "that of a matrix", list(dense_shape))
        rows, columns = dense_shape
        _check("inner_indices", inner_indices.shape == (count,), f"[{count}]", list(inner_indices.shape))
        _check("inner_indices", not count or bool((inner_indices >= 0).all() and (inner_indices < columns).all()), f"columns below {columns}", "others")
        _check("outer_indices", outer_indices.shape == (rows + 1,), f"[{rows + 1}]", list(outer_indices.shape))
        _check("outer_indices", outer_indices[0] == 0 and outer_indices[-1] == count and bool((np.diff(outer_indices) >= 0).all()),
               f"numbers that go up from 0 to {count}", outer_indices.tolist()[:8])
        return cls(dense_shape, values, SparseCsrView(inner_indices, outer_indices))

    @classmethod
    def of_dense(cls, dense: Array) -> "SparseTensor":
        """The elements that are not zero, in the COO format with positions in the flattened tensor."""
        flat = dense.reshape(-1)
        positions = np.flatnonzero(flat).astype(np.int64)
        return cls(dense.shape, flat[positions], SparseCooView(positions))

    def dense(self) -> Array:
        """The tensor with its zeros. Of values at one position the last one counts."""
        is_text = dtype_name(self._values.dtype) == "string"
        dense = np.full(self._shape, "", object) if is_text else np.zeros(self._shape, self._values.dtype)
        if isinstance(self._view, SparseCsrView):
            rows = np.repeat(np.arange(self._shape[0]), np.diff(self._view.outer()))
            dense[rows, self._view.inner()] = self._values
        elif self._view.indices().ndim == 1:
            dense.reshape(-1)[self._view.indices()] = self._values
        else:
            dense[tuple(self._view.indices().T)] = self._values
        return dense

    def values(self) -> Array:
        """A view that cannot be written to."""
        return _read_only(self._values)

    def as_coo_view(self) -> SparseCooView:
        """InvalidArgumentError: it has another format."""
        if not isinstance(self._view, SparseCooView):
            raise InvalidArgumentError("as_coo_view: expected the format COO, found CSR")
        return self._view

    def as_csrc_view(self) -> SparseCsrView:
        """InvalidArgumentError: it has another format."""
        if not isinstance(self._view, SparseCsrView):
            raise InvalidArgumentError("as_csrc_view: expected the format CSR, found COO")
        return self._view

    def as_blocksparse_view(self) -> Any:
        """UnsupportedError: nothing makes a tensor of that format."""
        raise UnsupportedError(f"as_blocksparse_view: the format is {self.format().name}")

    def to_cuda(self, ort_device: OrtDevice) -> "SparseTensor":
        """UnsupportedError: sparse tensors are in host memory. OrtValue puts dense ones on a device."""
        raise UnsupportedError(f"to_cuda: expected the CPU, found {ort_device}: sparse tensors are in host memory only")

    def format(self) -> OrtSparseFormat:
        return OrtSparseFormat.ORT_SPARSE_CSRC if isinstance(self._view, SparseCsrView) else OrtSparseFormat.ORT_SPARSE_COO

    def dense_shape(self) -> list[int]:
        return list(self._shape)

    def data_type(self) -> str:
        """ "sparse_tensor(float)" """
        return f"sparse_tensor({element_name(dtype_name(self._values.dtype))})"

    def device_name(self) -> str:
        """ "cpu" """
        return "cpu"


def _check_parts(dense_shape: Sequence[int], values: Array, indices: dict[str, Array], device: OrtDevice) -> None:
    """What holds for both formats."""
    if device.name != "cpu":
        raise UnsupportedError(f"SparseTensor: expected the device cpu, found {device}")
    _check("dense_shape", all(extent >= 0 for extent in dense_shape), "extents from 0", list(dense_shape))
    _check("values", isinstance(values, np.ndarray) and values.ndim == 1, "a numpy array with one axis",
           list(values.shape) if isinstance(values, np.ndarray) else type(values).__name__)
    for name, array in indices.items():
        _check(name, isinstance(array, np.ndarray) and array.dtype == np.int64, "a numpy array of int64",
               array.dtype if isinstance(array, np.ndarray) else type(array).__name__)
