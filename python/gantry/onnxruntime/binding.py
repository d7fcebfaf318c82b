# SPDX-License-Identifier: Apache-2.0
"""IOBinding: inputs and outputs bound for many runs, in host or device memory."""

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gantry._core import Binding, CancelToken, dtype_name
from gantry.errors import InvalidArgumentError
from gantry.onnxruntime.devices import OrtDevice
from gantry.onnxruntime.values import OrtValue, copy_into, device_of, element_dtype

if TYPE_CHECKING:
    from gantry.onnxruntime.session import InferenceSession

__all__ = ["IOBinding"]


def _array_at(pointer: int, element_type: Any, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """A view of the caller's memory, which the caller must keep valid."""
    dtype = element_dtype(element_type)
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    memory = (ctypes.c_char * size).from_address(pointer)
    array: np.ndarray[Any, Any] = np.frombuffer(memoryview(memory), dtype).reshape(tuple(shape))
    return array


def _is_written_in_place(target: Any) -> bool:
    """True if runs write to the array in place; results are copied to other arrays (strings, packed types, not contiguous)."""
    if not isinstance(target, np.ndarray):
        return True
    name = dtype_name(target.dtype)
    is_packed = name.startswith(("int4", "uint4", "int2", "uint2", "float4", "float6"))
    return name != "string" and not is_packed and target.flags.c_contiguous and target.flags.aligned and target.dtype.isnative


class IOBinding:
    """The inputs and outputs of InferenceSession.run_with_iobinding. IOBinding(session) is session.io_binding().

    Inputs are read in place, and outputs that are bound to memory are written there. A device_type other than "cpu" is a device of the session,
    and device_id its id in gantry. Used by one thread at a time.

    >>> binding = session.io_binding(); binding.bind_cpu_input("x", x); binding.bind_output("y", "cuda")
    """

    def __init__(self, session: "InferenceSession") -> None:
        if not hasattr(session, "gantry_session"):
            raise InvalidArgumentError(f"IOBinding: expected an InferenceSession, found a {type(session).__name__}")
        self._session = session.gantry_session
        self._owner = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, tuple[str | None, Any]] = {}  # (device for the result, target) by name, in the order of binding
        self._results: list[OrtValue] = []
        self._binding = Binding(self._session)

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Binds an input to an array, or to any value that InferenceSession.run takes. Later runs see later changes of it."""
        self._expect("input", name)
        self._inputs[name] = arr_on_cpu
        self._binding.input(name, arr_on_cpu)

    def bind_input(self, name: str, device_type: str | OrtDevice, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int) -> None:
        """Binds an input to the caller's memory, which must stay valid. element_type is a numpy type or an onnx.TensorProto number."""
        self.bind_cpu_input(name, self._memory(device_of(device_type, device_id), element_type, shape, buffer_ptr))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        if not isinstance(ortvalue, OrtValue):
            raise InvalidArgumentError(f'input "{name}": expected an OrtValue, found a {type(ortvalue).__name__}')
        self.bind_cpu_input(name, ortvalue.value)

    def bind_output(
        self,
        name: str,
        device_type: str | OrtDevice = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Binds an output to a device, in new memory; or with buffer_ptr to the caller's memory, which must stay valid."""
        self._expect("output", name)
        device = device_of(device_type, device_id)
        if buffer_ptr is None:
            self._bind(name, device, None)
        elif element_type is None or shape is None:
            raise InvalidArgumentError(f'output "{name}": element_type and shape are needed with buffer_ptr')
        else:
            self._bind(name, None, self._memory(device, element_type, shape, buffer_ptr))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._expect("output", name)
        self._bind(name, None, ortvalue.value)

    def synchronize_inputs(self) -> None:
        """Has nothing to wait for: device work of gantry is complete when a call returns."""

    def synchronize_outputs(self) -> None:
        """As synchronize_inputs."""

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run as OrtValues, in the order of binding."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[Any]:
        """As get_outputs, but as numpy arrays."""
        return [result.numpy() if result.is_tensor() else result.value for result in self._results]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()
        self._bind_anew()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results.clear()
        self._bind_anew()

    def run(self, cancel: CancelToken | None) -> None:
        """Implements run_with_iobinding. InvalidArgumentError: an input or every output is not bound; bound memory has another shape or type."""
        if not self._outputs:
            raise InvalidArgumentError("IOBinding: no output is bound; bind_output says which are wanted")
        self._results = []  # results on a device may be overwritten
        self._binding.run(cancel=cancel)
        for name, (_, target) in self._outputs.items():
            value = self._binding.result(name)
            if target is not None and not _is_written_in_place(target):
                copy_into(target, value, f'output "{name}"')
                value = target
            self._results.append(OrtValue(value))

    def _bind(self, name: str, device: str | None, target: Any) -> None:
        before = self._outputs.get(name)
        self._outputs[name] = (device, target)
        if device is not None:
            self._binding.output_on(name, device)
        elif target is not None and _is_written_in_place(target):
            self._binding.output(name, target)
        elif before is not None:
            self._bind_anew()

    def _bind_anew(self) -> None:
        self._binding = Binding(self._session)
        for name, value in self._inputs.items():
            self._binding.input(name, value)
        for name, (device, target) in list(self._outputs.items()):
            self._outputs.pop(name)
            self._bind(name, device, target)

    def belongs_to(self, owner: object) -> bool:
        """Whether that InferenceSession has made it."""
        return self._owner is owner

    def _memory(self, device: str | None, element_type: Any, shape: Sequence[int], pointer: int) -> Any:
        if not pointer and 0 not in shape:
            raise InvalidArgumentError(f"buffer_ptr: expected the address of {element_dtype(element_type)}[{','.join(map(str, shape))}], found a null pointer")
        if device is None:
            return _array_at(pointer, element_type, shape)
        return self._session.borrow_on(device, element_dtype(element_type), shape, pointer)

    def _expect(self, side: str, name: str) -> None:
        known = [info.name for info in (self._session.inputs if side == "input" else self._session.outputs)]
        if name not in known:
            names = ", ".join(f'"{one}"' for one in known)
            raise InvalidArgumentError(f'{side} "{name}": the model has no such {side}; it has {names or "none"}')
