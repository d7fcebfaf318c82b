# SPDX-License-Identifier: Apache-2.0
"""Adapters (LoRA): named tensors in a file, that a run takes in place of the model's defaults of the same names.

The file is a flatbuffer, which needs the package flatbuffers:

    Adapter    0 format_version: int32, 1 adapter_version: int32, 2 model_version: int32, 3 parameters: [Parameter]; identifier "TORT"
    Parameter  0 name: string, 1 dims: [int64], 2 data_type: int32 of onnx.TensorProto, 3 raw_data: [uint8], aligned to 8 bytes

(onnxruntime/lora/adapter_format/adapter_schema.fbs of ONNX Runtime.)
"""

import os
import pathlib
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from gantry.errors import InvalidArgumentError, InvalidModelError, NotFoundError, UnavailableError, UnsupportedError
from gantry.onnxruntime.values import OrtValue, element_dtype

__all__ = ["AdapterFormat", "LoraAdapter"]

_IDENTIFIER = b"TORT"
_FORMAT_VERSION = 1
_ALIGNMENT = 8  # of raw_data
_TEXT = 8
_ELEMENT_TYPES = set(range(1, 21)) - {_TEXT}  # of the schema, by their numbers in onnx.TensorProto


def _flatbuffers() -> Any:
    try:
        import flatbuffers  # type: ignore[import-untyped, unused-ignore]
        import flatbuffers.table  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise UnavailableError("adapters: the package flatbuffers is not installed; install it with pip install flatbuffers") from None
    return flatbuffers


class AdapterFormat:
    """The content of an adapter's file.

    >>> AdapterFormat.read_adapter("model.onnx_adapter").get_parameters()["lora_a"].numpy()
    """

    def __init__(self) -> None:
        self._format_version = _FORMAT_VERSION
        self._adapter_version = 0
        self._model_version = 0
        self._parameters: dict[str, OrtValue] = {}

    @staticmethod
    def read_adapter(file_path: str | os.PathLike[str]) -> "AdapterFormat":
        """Raises NotFoundError: no such file; InvalidModelError: it is no adapter; UnavailableError: the file cannot be read, or the package
        flatbuffers is missing."""
        try:
            content = pathlib.Path(file_path).read_bytes()
        except OSError as error:
            kind = NotFoundError if isinstance(error, FileNotFoundError) else UnavailableError
            raise kind(f"{os.fspath(file_path)}: {error.strerror}") from error
        table = _flatbuffers().table
        if content[4:8] != _IDENTIFIER:
            raise InvalidModelError(f"{os.fspath(file_path)}: expected an adapter, whose file has TORT in its bytes 4 to 7, found {content[4:8]!r}")
        try:
            return _read(table.Table, content)
        except (struct.error, IndexError, TypeError, ValueError, OverflowError, MemoryError) as error:
            raise InvalidModelError(f"{os.fspath(file_path)}: no adapter, or not a whole one: {error}") from error

    def export_adapter(self, file_path: str | os.PathLike[str]) -> None:
        """Writes the file. Raises UnsupportedError: a parameter of text; UnavailableError: the file cannot be written, or the package flatbuffers is missing."""
        content = self._written()
        try:
            pathlib.Path(file_path).write_bytes(content)
        except OSError as error:
            raise UnavailableError(f"{os.fspath(file_path)}: {error.strerror}") from error

    def get_format_version(self) -> int:
        return self._format_version

    def set_adapter_version(self, adapter_version: int) -> None:
        self._adapter_version = adapter_version

    def get_adapter_version(self) -> int:
        return self._adapter_version

    def set_model_version(self, model_version: int) -> None:
        self._model_version = model_version

    def get_model_version(self) -> int:
        return self._model_version

    def set_parameters(self, params: Mapping[str, OrtValue]) -> None:
        self._parameters = dict(params)

    def get_parameters(self) -> dict[str, OrtValue]:
        return dict(self._parameters)

    def _written(self) -> bytes:
        builder = _flatbuffers().Builder(1024)
        rows = [_write_parameter(builder, name, value) for name, value in self._parameters.items()]
        builder.StartVector(4, len(rows), 4)
        for row in reversed(rows):
            builder.PrependUOffsetTRelative(row)
        parameters = builder.EndVector()
        builder.StartObject(4)
        builder.PrependInt32Slot(0, self._format_version, 0)
        builder.PrependInt32Slot(1, self._adapter_version, 0)
        builder.PrependInt32Slot(2, self._model_version, 0)
        builder.PrependUOffsetTRelativeSlot(3, parameters, 0)
        builder.Finish(builder.EndObject(), _IDENTIFIER)
        return bytes(builder.Output())


class LoraAdapter:
    """An adapter for RunOptions.add_active_adapter.

    >>> adapter = LoraAdapter(); adapter.Load("model.onnx_adapter"); options.add_active_adapter(adapter)
    """

    def __init__(self) -> None:
        self._parameters: dict[str, OrtValue] = {}

    def Load(self, file_path: str | os.PathLike[str]) -> None:  # noqa: N802 - the name is ONNX Runtime's
        """Reads the file. Raises as AdapterFormat.read_adapter."""
        self._parameters = AdapterFormat.read_adapter(file_path).get_parameters()

    def parameters(self) -> dict[str, Any]:
        """The tensors as gantry.Session takes them."""
        return {name: value.value for name, value in self._parameters.items()}


def _write_parameter(builder: Any, name: str, value: OrtValue) -> int:
    """The parameter's offset in the file."""
    array = np.ascontiguousarray(value.numpy())
    if value.data_type() == "tensor(string)":
        raise UnsupportedError(f"export_adapter: parameter {name}: expected numbers, found text")
    written_name = builder.CreateString(name)
    builder.StartVector(8, len(value.shape()), 8)
    for extent in reversed(value.shape()):
        builder.PrependInt64(extent)
    dims = builder.EndVector()
    data = array.tobytes()
    builder.StartVector(1, len(data), _ALIGNMENT)
    builder.head = builder.Head() - len(data)  # as its CreateByteVector, which has no alignment
    builder.Bytes[builder.Head() : builder.Head() + len(data)] = data
    raw_data = builder.EndVector()
    builder.StartObject(4)
    builder.PrependUOffsetTRelativeSlot(0, written_name, 0)
    builder.PrependUOffsetTRelativeSlot(1, dims, 0)
    builder.PrependInt32Slot(2, value.element_type(), 0)
    builder.PrependUOffsetTRelativeSlot(3, raw_data, 0)
    return int(builder.EndObject())


def _int32(table: Any, field: int) -> int:
    """The number in that field of a table; 0: it is not there."""
    offset = table.Offset(4 + 2 * field)
    return int(struct.unpack_from("<i", table.Bytes, table.Pos + offset)[0]) if offset else 0


def _vector(table: Any, field: int) -> tuple[int, int]:
    """(where its elements begin, their number) of the vector in that field; no elements: it is not there."""
    offset = table.Offset(4 + 2 * field)
    return (table.Vector(offset), table.VectorLen(offset)) if offset else (0, 0)


def _read(table_type: Any, content: bytes) -> AdapterFormat:
    adapter = AdapterFormat()
    root = table_type(content, struct.unpack_from("<I", content)[0])
    adapter._format_version, adapter._adapter_version, adapter._model_version = (_int32(root, field) for field in range(3))
    begin, count = _vector(root, 3)
    for place in range(begin, begin + 4 * count, 4):
        parameter = table_type(content, root.Indirect(place))
        name = bytes(parameter.String(parameter.Pos + parameter.Offset(4))).decode()
        dims_begin, rank = _vector(parameter, 1)
        shape = struct.unpack_from(f"<{rank}q", content, dims_begin)
        number = _int32(parameter, 2)
        if number not in _ELEMENT_TYPES:
            raise InvalidArgumentError(f"parameter {name}: expected an element type of numbers, found {number}")
        dtype = element_dtype(number)
        data_begin, size = _vector(parameter, 3)
        expected = dtype.itemsize * int(np.prod(shape, dtype=object))
        if min(shape, default=0) < 0 or size != expected:
            raise InvalidArgumentError(f"parameter {name}: expected {expected} bytes for {dtype}{list(shape)}, found {size}")
        array = np.frombuffer(content, dtype, size // dtype.itemsize, data_begin).reshape(shape)
        adapter._parameters[name] = OrtValue.ortvalue_from_numpy(array)
    return adapter
