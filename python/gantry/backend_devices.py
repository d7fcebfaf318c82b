# SPDX-License-Identifier: Apache-2.0
"""Devices implemented by classes with ONNX's Backend interface: gantry.register_backend, and the calls of the C++ provider.

`is_compatible` of the class accepts the graph as a whole or single nodes; the class `prepare`s the accepted part once and `run`s it.
"""

from __future__ import annotations

import json
import os
import re
import traceback
import typing
import warnings

from gantry import _core, errors
from gantry.described_graph import Description, Message, all_tensors, is_of_one_opset, model_of

KIND_TENSOR = 1
CODES = {name: number for number, name in enumerate((
    "OK", "INVALID_ARGUMENT", "INVALID_MODEL", "UNSUPPORTED", "NOT_FOUND", "UNAVAILABLE", "OUT_OF_MEMORY", "ABI_MISMATCH", "DEVICE_ERROR", "DEVICE_LOST",
    "PROVIDER_CRASHED", "CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL"))}


def register_backend(device_type: str, backend: typing.Any, *, device: str = "CPU") -> None:
    """Implements gantry.register_backend."""
    if not isinstance(device_type, str) or not re.fullmatch(r"[A-Za-z0-9_]{1,64}", device_type):
        raise errors.InvalidArgumentError(f'device_type: expected 1 to 64 letters, digits and "_", as "MYDEV", found {device_type!r}')
    if not callable(getattr(backend, "prepare", None)):
        raise errors.InvalidArgumentError(f"backend: expected a class with prepare(model, device), as onnx.backend.base.Backend, found {backend!r}")
    manifest = {"manifest_version": 1, "name": "backend-" + device_type.lower(), "version": _core.version, "abi": {"major": 1, "minor": 0},
                "devices": [device_type]}
    _core.register_backend(device_type, BackendAdapter(backend, device), json.dumps(manifest))


class BackendAdapter:
    """Adapts a class to the C++ provider. Every method is called with the GIL, from any thread."""

    def __init__(self, backend: typing.Any, device: str) -> None:
        self._backend = backend
        self._device = device
        self.class_name = getattr(backend, "__name__", None) or type(backend).__name__
        self.name = f"{self.class_name} in Python"

    def claim(self, graph: Description) -> tuple[list[list[int]], dict[int, str]]:
        """The sets of nodes that the class accepts, and the reason for refusing each other node: {index: reason}."""
        reasons = {i: refusal_of(graph, node) for i, node in enumerate(graph["nodes"])}
        taken = [i for i, reason in reasons.items() if not reason]
        if len(taken) == len(reasons) > 1 and is_of_one_opset(graph["nodes"]) and self._is_compatible(model_of(graph, taken)):
            return [taken], {}
        claimed = []
        for i in taken:
            if self._is_compatible(model_of(graph, [i])):
                claimed.append([i])
            else:
                reasons[i] = f"{self.class_name}.is_compatible refuses {graph['nodes'][i]['op_type']} as a model of its own"
        return claimed, {i: reason for i, reason in reasons.items() if reason}

    def _is_compatible(self, model: Message) -> bool:
        ask = getattr(self._backend, "is_compatible", None)
        return ask is None or bool(ask(model, self._device))

    def prepare(self, model_bytes: bytes, weight: typing.Callable[[int], bytes]) -> Part:
        """Prepares a part of the graph; `weight(n)` returns the bytes of the tensor at external location "gantry:n"."""
        import onnx

        model = onnx.ModelProto.FromString(model_bytes)
        for tensor in all_tensors(model):
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                location = next(entry.value for entry in tensor.external_data if entry.key == "location")
                tensor.raw_data = weight(int(location.split(":")[1]))
                tensor.ClearField("external_data")
                tensor.data_location = onnx.TensorProto.DEFAULT
        prepared = self._backend.prepare(model, self._device)
        if not callable(getattr(prepared, "run", None)):
            raise TypeError(f"expected an object with run(inputs), found {prepared!r}")
        outputs = [(value.name, value.type.tensor_type.elem_type) for value in model.graph.output]
        return Part(prepared, [value.name for value in model.graph.input], [name for name, _ in outputs], [dtype for _, dtype in outputs])

    def describe_error(self, error: BaseException, method: str, subject: str) -> tuple[int, str]:
        """The error code and message for an exception of the class."""
        code = ("CANCELLED" if isinstance(error, KeyboardInterrupt) else error.code if isinstance(error, errors.Error)
                else "UNSUPPORTED" if isinstance(error, NotImplementedError) else "OUT_OF_MEMORY" if isinstance(error, MemoryError) else "DEVICE_ERROR")
        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
        return CODES.get(code, CODES["INTERNAL"]), f"{self.class_name}.{method}, {subject}: {type(error).__name__}: {error}{place}"

    def warn_of_kept_inputs(self, subject: str) -> None:
        warnings.warn(f"{self.class_name}.run, {subject}: it keeps inputs, which are valid until it returns; it is given copies from now on",
                      RuntimeWarning, stacklevel=2)


class Part:
    """A prepared part of the graph: names of its inputs and outputs, element types (ONNX TensorProto numbers) of the outputs."""

    def __init__(self, prepared: typing.Any, inputs: list[str], outputs: list[str], dtypes: list[int]) -> None:
        self.prepared = prepared
        self.inputs = inputs
        self.outputs = outputs
        self.dtypes = dtypes

    def run(self, arrays: list[typing.Any]) -> list[typing.Any]:
        """Runs the part. Returns the outputs as numpy arrays, each checked against the model's declaration."""
        import numpy as np

        results = self.prepared.run(arrays)
        if not isinstance(results, (tuple, list)):
            raise TypeError(f"expected a tuple or list of {len(self.outputs)} outputs, found {type(results).__name__}")
        if len(results) != len(self.outputs):
            raise ValueError(f"expected {len(self.outputs)} outputs ({', '.join(self.outputs)}), found {len(results)}")
        arrays = []
        for name, dtype, result in zip(self.outputs, self.dtypes, results):
            array = np.from_dlpack(result) if hasattr(result, "__dlpack__") and not isinstance(result, np.ndarray) else np.asarray(result)
            if dtype and _core.dtype_number(array.dtype) != dtype:
                raise TypeError(f'output "{name}": expected elements of type {_core.numpy_dtype(dtype)}, found {array.dtype}')
            arrays.append(np.ascontiguousarray(array) if array.ndim else array)
        return arrays


def refusal_of(graph: Description, node: Description) -> str:
    """The reason why no class can run the node; "" if one can."""
    values = [graph["values"][i] for i in [*node["inputs"], *node["outputs"], *node["captures"]] if i is not None]
    others = [value["name"] for value in values if value["kind"] != KIND_TENSOR]
    return f'"{others[0]}" is no tensor, or of unknown kind: classes in Python get tensors alone' if others else ""
