# SPDX-License-Identifier: Apache-2.0
"""IOBinding: the inputs and outputs of many runs, all of them in host memory."""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gantry.errors import InvalidArgumentError
from gantry.onnxruntime.values import OrtValue, copy_into, element_dtype, expect_host

__all__ = ["IOBinding"]


def _array_at(pointer: int, element_type: Any, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """A view of the caller's memory, which the caller keeps."""
    dtype = element_dtype(element_type)
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    memory = (ctypes.c_char * size).from_address(pointer)
    array: np.ndarray[Any, Any] = np.frombuffer(memoryview(memory), dtype).reshape(tuple(shape))
    return array


class IOBinding:
    """What a session's run_with_iobinding reads and where it writes; InferenceSession.io_binding makes it.

    Inputs are read in place; outputs that are bound to memory are copied there when the run has ended. device_type is "cpu" everywhere.

    >>> binding = session.io_binding(); binding.bind_cpu_input("x", x); binding.bind_output("y")
    """

    def __init__(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self._names = {"input": list(inputs), "output": list(outputs)}
        self._inputs: dict[str, Any] = {}
        self._targets: dict[str, np.ndarray[Any, Any] | None] = {}
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """An array, or whatever InferenceSession.run takes; later changes of it are seen by later runs."""
        self._expect("input", name)
        self._inputs[name] = arr_on_cpu

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int) -> None:
        """Memory of the caller, who keeps it; element_type is a numpy type or a number of onnx.TensorProto."""
        expect_host(device_type)
        self.bind_cpu_input(name, _array_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self.bind_cpu_input(name, ortvalue.value)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """An output that is wanted; with buffer_ptr, where it goes: memory of the caller, who keeps it."""
        self._expect("output", name)
        expect_host(device_type)
        if buffer_ptr is None:
            self._targets[name] = None
        elif element_type is None or shape is None:
            raise InvalidArgumentError(f'output "{name}": element_type and shape are needed with buffer_ptr')
        else:
            self._targets[name] = _array_at(buffer_ptr, element_type, shape)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._expect("output", name)
        self._targets[name] = ortvalue.numpy()

    def synchronize_inputs(self) -> None:
        """Nothing is under way between two calls."""

    def synchronize_outputs(self) -> None:
        """Nothing is under way between two calls."""

    def get_outputs(self) -> list[OrtValue]:
        """Of the last run, in the order in which they were bound."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[Any]:
        """As get_outputs, as arrays."""
        return [result.value for result in self._results]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._targets.clear()
        self._results.clear()

    def feed(self) -> Mapping[str, Any]:
        """What the run reads."""
        return dict(self._inputs)

    def output_names(self) -> list[str]:
        """What the run returns. InvalidArgumentError: nothing is bound."""
        if not self._targets:
            raise InvalidArgumentError("IOBinding: no output is bound; bind_output says which are wanted")
        return list(self._targets)

    def take(self, results: Mapping[str, Any]) -> None:
        """Puts the outputs of a run where they belong. InvalidArgumentError: the bound memory is of another shape or type."""
        self._results = []
        for name, target in self._targets.items():
            value = results[name]
            if target is not None:
                copy_into(target, value, f'output "{name}"')
                value = target
            self._results.append(OrtValue(value))

    def _expect(self, side: str, name: str) -> None:
        if name not in self._names[side]:
            names = ", ".join(f'"{known}"' for known in self._names[side])
            raise InvalidArgumentError(f'{side} "{name}": the model has no such {side}; it has {names or "none"}')
