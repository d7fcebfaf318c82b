# SPDX-License-Identifier: Apache-2.0
"""The ONNX Backend interface on gantry's devices; needs the package onnx.

    import gantry.backend

    rep = gantry.backend.prepare(model, "CPU")
    outputs = rep.run([x])                  # a named tuple: outputs[0], outputs.y, outputs["y"]

The functions are those of onnx.backend.base.Backend and can be handed to onnx.backend.test.BackendTest as a module.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.backend.base
from onnx import helper
from onnx.backend.base import namedtupledict

import gantry
from gantry._core import parse_device
from gantry.errors import InvalidArgumentError, InvalidModelError, UnavailableError, UnsupportedError

__all__ = ["Backend", "BackendRep", "Device", "DeviceType", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]

# Keyword arguments that onnx.backend.test passes to prepare(): its tolerances.
_IGNORED_OPTIONS = frozenset({"rtol", "atol"})


class DeviceType(str):
    """The type of a device: any name that a provider declares. CPU and CUDA are those of onnx.backend.base.

    >>> DeviceType.CPU == "CPU"
    True
    """

    __slots__ = ()
    CPU: "DeviceType"
    CUDA: "DeviceType"


DeviceType.CPU = DeviceType("CPU")
DeviceType.CUDA = DeviceType("CUDA")


class Device:
    """A device string, "TYPE" or "TYPE:id": `type` is a DeviceType, `device_id` an integer; without id it is 0.

    device: the device string, or with `device_id` the type only.

    Raises gantry.InvalidArgumentError if the string has another form. Does not check that the device exists.

    >>> Device("SIM:1").type, Device("SIM", 1).device_id
    ('SIM', 1)
    """

    def __init__(self, device: str, device_id: int | None = None) -> None:
        if not isinstance(device, str):
            raise InvalidArgumentError(f'device: expected text like "CPU" or "CUDA:1", found {_described(device)}')
        name, self.device_id = parse_device(device if device_id is None else f"{device}:{device_id}")
        self.type = DeviceType(name)

    def __str__(self) -> str:
        return f"{self.type}:{self.device_id}"

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class BackendRep(onnx.backend.base.BackendRep):
    """A model ready to run, created by prepare(). `session` is the gantry.Session behind it. Any thread may run it."""

    def __init__(self, session: gantry.Session) -> None:
        self.session = session
        self._all_names = [info.name for info in session.inputs]
        self._input_names = [info.name for info in session.inputs if info.required]
        self._make_outputs = namedtupledict("Outputs", [info.name for info in session.outputs])

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Runs the model once.

        inputs: a list or tuple in the order of the model's inputs, a dict by their names, or for a model of one input a single array
        (numpy, or of any library that supports DLPack). Inputs with a default value in the model may be left out, in a list all or none of them.
        Values are as for gantry.Session.run: arrays of the declared type and shape, lists for sequences, None or a value for optionals, dicts
        for maps.
        kwargs: `timeout` in seconds.

        Returns a named tuple in the order of the model's outputs. An output is found by position, by name (`outputs["2:0"]`) and, if its
        name is a Python identifier, as an attribute (`outputs.y`); for other names the attribute is `_` and the position.

        Raises gantry.InvalidArgumentError: a wrong number of inputs, name, type or shape.

        >>> rep.run([x]).y
        """
        _check_options("run", kwargs, {"timeout"})
        results = self.session.run(self._by_name(inputs), **kwargs)
        return self._make_outputs(*results.values())

    def _by_name(self, inputs: Any) -> dict[str, Any]:
        if isinstance(inputs, Mapping):
            return dict(inputs)
        if isinstance(inputs, (list, tuple)):
            names = self._all_names if len(inputs) == len(self._all_names) else self._input_names
            if len(inputs) != len(names):
                raise InvalidArgumentError(f"inputs: expected {_count(len(self._input_names), 'value')}, one for each input of the model "
                                           f"({_names(self._input_names)}), found {len(inputs)}")
            return dict(zip(names, inputs, strict=True))
        if not _is_array(inputs):
            raise InvalidArgumentError(f"inputs: expected a list, a tuple, a dict or an array, found a {type(inputs).__name__}")
        if len(self._input_names) != 1:
            raise InvalidArgumentError(f"inputs: found a single array, and the model has {_count(len(self._input_names), 'input')} "
                                       f"({_names(self._input_names)}); pass a list or a dict")
        return {self._input_names[0]: inputs}


class Backend(onnx.backend.base.Backend):
    """onnx.backend.base.Backend on gantry's devices; the module's functions are its class methods."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """True if the providers accept every node of the model for the device. Nothing is compiled.

        model: a ModelProto, bytes or a path. kwargs: `config`, as gantry.Session takes it. Also False if the model is invalid or the
        device does not exist; gantry.check reports which node is refused and why.

        Raises gantry.InvalidArgumentError: the device is not written "TYPE" or "TYPE:id", or an argument is of a wrong type.

        >>> is_compatible(model, "CUDA:1")
        """
        Device(device)
        _check_options("is_compatible", kwargs, {"config"})
        if not gantry.supports_device(device):
            return False
        try:
            return gantry.check(model, device, **_without_ignored(kwargs)).compatible
        except (InvalidModelError, UnsupportedError, UnavailableError):
            return False

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> BackendRep:
        """Loads, places and compiles the model for the device.

        model: a ModelProto, bytes or a path. kwargs: `config` and `profile`, as gantry.Session takes them.

        Raises gantry.InvalidModelError; gantry.UnsupportedError with the nodes that the device refuses and why; gantry.NotFoundError or
        gantry.UnavailableError if there is no such device; gantry.InvalidArgumentError for a wrong argument.

        >>> prepare(model, "CPU", config={"session": {"threads": 2}}).run([x])
        """
        Device(device)
        _check_options("prepare", kwargs, {"config", "profile"})
        return BackendRep(gantry.Session(model, device, **_without_ignored(kwargs)))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """prepare(model, device, **kwargs).run(inputs): for a model that is run once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, Sequence[int]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Runs a single node, as a model of its own.

        inputs: a list in the order of the node's inputs, a dict by their names, or a single array. Their types come from the values: an
        array is a tensor, a list a sequence, what is neither (a number) becomes an array. Optional inputs that are not given have the
        name "" in the node; the list leaves them out or has None in their place.
        outputs_info: (dtype, shape) for each output that has a name; without it they are inferred.
        kwargs: `opset_version`, of the node's domain, else the newest; `config`.

        Returns a named tuple of the outputs that have a name.

        Raises what prepare() and BackendRep.run() raise.

        >>> run_node(onnx.helper.make_node("Add", ["a", "b"], ["c"]), [a, b]).c
        """
        _check_options("run_node", kwargs, {"opset_version", "config"})
        if not isinstance(node, onnx.NodeProto):
            raise InvalidArgumentError(f"node: expected an onnx.NodeProto, found {_described(node)}")
        named = _node_inputs(node, inputs)
        model = _node_model(node, named, outputs_info, kwargs.pop("opset_version", None))
        return cls.prepare(model, device, **kwargs).run(named)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """True if the device exists and is ready; opens its provider. False otherwise, also for an invalid device string.

        >>> supports_device("CPU")
        """
        return isinstance(device, str) and gantry.supports_device(device)


is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device


def _check_options(function: str, options: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(options.keys() - known - _IGNORED_OPTIONS)
    if unknown:
        raise InvalidArgumentError(f"{function}: there is no option {_names(unknown)}; expected {_names(sorted(known))}")


def _without_ignored(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in _IGNORED_OPTIONS}


def _names(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names) or "none"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _described(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__dlpack__") or hasattr(value, "__array__")


def _node_inputs(node: onnx.NodeProto, inputs: Any) -> dict[str, Any]:
    """The input values by the names of the node's inputs."""
    names = [name for name in node.input if name]
    if isinstance(inputs, Mapping):
        wrong = sorted(set(names) ^ inputs.keys())
        if wrong:
            raise InvalidArgumentError(f'inputs of {node.op_type} "{node.name}": expected {_names(names)}, found {_names(list(inputs))}')
        return dict(inputs)
    given = [inputs] if _is_array(inputs) else inputs
    if not isinstance(given, (list, tuple)):
        raise InvalidArgumentError(f"inputs: expected a list, a tuple, a dict or an array, found a {type(inputs).__name__}")
    if len(given) == len(node.input):
        pairs = [(name, value) for name, value in zip(node.input, given, strict=True) if name]
    elif len(given) == len(names):
        pairs = list(zip(names, given, strict=True))
    else:
        raise InvalidArgumentError(f'inputs of {node.op_type} "{node.name}": expected {_count(len(names), "value")} ({_names(names)}), '
                                   f"found {len(given)}")
    return dict(pairs)


def _value_type(name: str, value: Any) -> onnx.TypeProto:
    """The ONNX type of a value, with its actual shape."""
    if value is None:
        raise InvalidArgumentError(f'input "{name}": found None, whose type is open; leave the input out by naming it "" in the node')
    if isinstance(value, (list, tuple)) and value and _is_array(value[0]):
        item = _value_type(name, value[0])
        item.tensor_type.ClearField("shape")
        return helper.make_sequence_type_proto(item)
    array = np.asarray(value)
    try:
        element_type = _element_type(array.dtype)
    except (KeyError, ValueError) as error:
        raise InvalidArgumentError(f'input "{name}": ONNX has no element type for a {type(value).__name__} of {array.dtype}') from error
    return helper.make_tensor_type_proto(element_type, array.shape)


def _element_type(dtype: np.dtype) -> int:
    if dtype.kind in "OUST":
        return onnx.TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(dtype)


def _domains(node: onnx.NodeProto) -> set[str]:
    """The domains of a node and of the nodes in its subgraphs."""
    found = {"" if node.domain == "ai.onnx" else node.domain}
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                found |= _domains(inner)
    return found


def _newest_opset(domain: str) -> int:
    if domain == "":
        return onnx.defs.onnx_opset_version()
    versions = [schema.since_version for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == domain]
    return max(versions, default=1)


def _node_model(
    node: onnx.NodeProto,
    inputs: Mapping[str, Any],
    outputs_info: Sequence[tuple[Any, Sequence[int]]] | None,
    opset_version: int | None,
) -> onnx.ModelProto:
    """A model of one node, with input types from the values."""
    input_infos = [helper.make_value_info(name, _value_type(name, value)) for name, value in inputs.items()]
    names = [name for name in node.output if name]
    if outputs_info is None:
        output_infos = [onnx.ValueInfoProto(name=name) for name in names]
    elif len(outputs_info) != len(names):
        raise InvalidArgumentError(f'outputs_info of {node.op_type} "{node.name}": expected {_count(len(names), "row")} '
                                   f"({_names(names)}), found {len(outputs_info)}")
    else:
        output_infos = [helper.make_tensor_value_info(name, _element_type(np.dtype(dtype)), shape)
                        for name, (dtype, shape) in zip(names, outputs_info, strict=True)]
    versions = {domain: _newest_opset(domain) for domain in _domains(node) | {""}}
    if opset_version is not None:
        versions["" if node.domain == "ai.onnx" else node.domain] = opset_version
    opsets = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    graph = helper.make_graph([node], node.name or node.op_type, input_infos, output_infos)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=helper.find_min_ir_version_for(opsets, ignore_unknown=True))
    return model if outputs_info is not None else _infer_outputs(node, model)


def _infer_outputs(node: onnx.NodeProto, model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    except onnx.shape_inference.InferenceError as error:
        reason = " ".join(str(error).split()).rsplit("[ShapeInferenceError] ", 1)[-1]
        raise InvalidModelError(f'{node.op_type} "{node.name}" does not fit its inputs: {reason}') from error
    untyped = [info.name for info in inferred.graph.output if info.type.WhichOneof("value") is None]
    if untyped:
        raise InvalidArgumentError(f'{node.op_type} "{node.name}": the type of its output {_names(untyped)} does not follow from the node; '
                                   "pass outputs_info")
    return inferred
