# SPDX-License-Identifier: Apache-2.0
"""InferenceSession, and the mapping of execution providers to gantry's devices."""

import dataclasses
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import gantry
from gantry._core import inspect
from gantry.errors import InvalidArgumentError
from gantry.onnxruntime.binding import IOBinding
from gantry.onnxruntime.names import type_name
from gantry.onnxruntime.options import RunOptions, SessionOptions
from gantry.onnxruntime.values import OrtValue, as_text
from gantry.run_future import threads

__all__ = [
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtEpAssignedNode",
    "OrtEpAssignedSubgraph",
    "get_all_providers",
    "get_available_providers",
    "get_device",
]

_SUFFIX = "ExecutionProvider"
_HOST = "CPUExecutionProvider"


@dataclasses.dataclass(frozen=True)
class NodeArg:
    """An input or output: `type` as "tensor(float)", `shape` with extents as numbers, names, or None if unknown."""

    name: str
    type: str
    shape: list[int | str | None]


@dataclasses.dataclass(frozen=True)
class ModelMetadata:
    """Metadata of a model."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]


@dataclasses.dataclass(frozen=True)
class OrtEpAssignedNode:
    """A node and its operator."""

    name: str
    domain: str
    op_type: str


@dataclasses.dataclass(frozen=True)
class OrtEpAssignedSubgraph:
    """A node, in the form in which ONNX Runtime tells of the nodes that a provider runs."""

    ep_name: str
    node: OrtEpAssignedNode

    def get_nodes(self) -> list[OrtEpAssignedNode]:
        return [self.node]


def get_available_providers() -> list[str]:
    """A name for each type of device that is ready, "CPUExecutionProvider" last. Simulated devices such as SIM are
    not listed, since programs pass the list on unchanged; "SIMExecutionProvider" is accepted by name."""
    types = dict.fromkeys(device.type for device in gantry.devices() if device.state == "ready" and not device.stand_in)
    names = [kind + _SUFFIX for kind in types]
    return sorted(names, key=lambda name: name == _HOST)


get_all_providers = get_available_providers


def get_device() -> str:
    """ "GPU" if a CUDA device is ready, else "CPU"."""
    return "GPU" if "CUDA" + _SUFFIX in get_available_providers() else "CPU"


def _warn(text: str) -> None:
    """Warns with the location of the caller of gantry.onnxruntime, at any depth."""
    depth = 2
    while sys._getframe(depth - 1).f_globals.get("__name__", "").startswith("gantry.onnxruntime."):
        depth += 1
    warnings.warn(f"gantry.onnxruntime: {text}", UserWarning, stacklevel=depth)


def _provider_rows(providers: Any, provider_options: Any) -> list[tuple[str, dict[str, Any]]]:
    """(name, options) of each requested provider, in order."""
    if providers is None:
        return []
    if isinstance(providers, str) or not isinstance(providers, Sequence):
        raise InvalidArgumentError(f"providers: expected a list of names or of (name, options), found a {type(providers).__name__}")
    if provider_options is not None and len(provider_options) != len(providers):
        raise InvalidArgumentError(f"provider_options: expected one dict for each of the {len(providers)} providers, found "
                                   f"{len(provider_options)}")
    rows = []
    for index, item in enumerate(providers):
        name, options = (item, {}) if isinstance(item, str) else tuple(item) if isinstance(item, (tuple, list)) and len(item) == 2 else (None, {})
        if not isinstance(name, str) or not isinstance(options, Mapping):
            raise InvalidArgumentError(f"providers[{index}]: expected a name or (name, options), found {item!r}")
        rows.append((name, {**options, **(provider_options[index] if provider_options else {})}))
    return rows


def _device(name: str, options: Mapping[str, Any], is_quiet: bool) -> str | None:
    """The device of a provider, as "TYPE:id"; None, and a warning, if there is none."""
    ignored = sorted(set(options) - {"device_id"})
    if ignored and not is_quiet:
        _warn(f"{name}: no effect of the options {', '.join(ignored)}; gantry's own go into the configuration")
    device = f"{name.removesuffix(_SUFFIX)}:{options.get('device_id', 0)}"
    if name.endswith(_SUFFIX) and gantry.supports_device(device):
        return device
    _warn(f"{name}: no device {device} is ready; available providers: {', '.join(get_available_providers())}")
    return None


class InferenceSession:
    """A model ready to run.

    path_or_bytes: a path, the bytes of a model, or an onnx.ModelProto. sess_options: see SessionOptions. providers: names, or
    (name, options) with the option "device_id", most preferred first; nodes that one refuses go to the next, and to the CPU last. A
    missing provider gives a warning and is skipped. disabled_optimizers, enable_fallback: no effect.

    Raises gantry.Error; gantry.onnxruntime.capi.onnxruntime_pybind11_state has its classes under ONNX Runtime's names.

    >>> InferenceSession("model.onnx", providers=[("CUDAExecutionProvider", {"device_id": 1}), "CPUExecutionProvider"])
    """

    def __init__(
        self,
        path_or_bytes: Any,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        *,
        disabled_optimizers: Iterable[str] | None = None,
        enable_fallback: int = 1,
    ) -> None:
        self._options = sess_options if sess_options is not None else SessionOptions()
        self._model = path_or_bytes
        not_obeyed = self._options.not_obeyed()
        if disabled_optimizers:
            not_obeyed.append(f"disabled_optimizers={sorted(disabled_optimizers)}")
        if not_obeyed and not self._options.is_quiet():
            _warn(f"no effect of the session options {', '.join(not_obeyed)}")
        if self._options.optimized_model_filepath:
            external_file, external_bytes = self._options.external_tensors()
            gantry.write_optimized(self._model, self._options.optimized_model_filepath, config=self._options.config(),
                                   initializers=self._options.initializers(), external_file=external_file, external_bytes=external_bytes)
        self._load(self._options.providers() if providers is None else providers, provider_options)

    def set_providers(self, providers: Sequence[Any] | None = None, provider_options: Sequence[Mapping[str, Any]] | None = None) -> None:
        """Loads the model again for these providers. An io_binding() created before still uses the previous one.

        >>> session.set_providers([("CUDAExecutionProvider", {"device_id": 1})])
        """
        self._load(providers, provider_options)

    def _load(self, providers: Any, provider_options: Any) -> None:
        is_quiet = self._options.is_quiet()
        config = self._options.config()
        rows = _provider_rows(providers, provider_options)
        devices = {name: device for name, options in rows if (device := _device(name, options, is_quiet))}
        devices.setdefault(_HOST, "CPU:0")
        config["placement"] = {"prefer": list(devices.values()), "fallback": "allow"}
        self._session = gantry.Session(self._model, config=config, profile=self._options.enable_profiling,
                                       initializers=self._options.initializers(), cancel=self._options.loading_token())
        self._providers = list(devices)
        self._provider_options = {name: {"device_id": device.split(":")[1]} for name, device in devices.items()}
        self._started = time.time_ns()

    def enable_fallback(self) -> None:
        """Has no effect: a run that fails on a device is not retried on another one."""

    def disable_fallback(self) -> None:
        """Has no effect: there is never a fallback."""

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[Any]:
        """Runs the model. Returns a list of the named outputs, in that order; None or []: all outputs.

        Raises InvalidArgumentError, which is a ValueError too: an input is missing, unknown, or of another type or shape than declared.

        >>> session.run(["y"], {"x": x})
        """
        feed = {name: value.value if isinstance(value, OrtValue) else as_text(value) for name, value in input_feed.items()}
        if run_options is not None:
            feed |= run_options.adapter_inputs()
        token = run_options.token if run_options is not None else None
        names = [info.name for info in self._session.outputs]
        results = self._session.run(feed, list(output_names) if output_names else None, cancel=token)
        return [results[name] for name in (output_names or names)]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any = None,
        run_options: RunOptions | None = None,
    ) -> None:
        """Starts run() on another thread and returns. There, `callback(results, user_data, error)` is called once: with the
        result of run() and "", or with [] and the error message. The interpreter waits for it at exit.

        >>> session.run_async(None, {"x": x}, lambda results, tag, error: print(tag, error or results), "first")
        """

        def run_and_tell() -> None:
            results: list[Any] = []
            error = ""
            try:
                results = self.run(output_names, input_feed, run_options)
            except Exception as refused:  # noqa: BLE001 - any exception is passed to the callback
                error = str(refused)
            callback(results, user_data, error)

        threads.submit(run_and_tell)

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue], run_options: RunOptions | None = None
    ) -> list[OrtValue]:
        """As run(), with OrtValues."""
        return [OrtValue(value) for value in self.run(output_names, input_dict_ort_values, run_options)]

    def io_binding(self) -> IOBinding:
        """Inputs and outputs bound once for many runs; see run_with_iobinding."""
        return IOBinding(self._session)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs with bound inputs and outputs. Outputs that are bound to memory are written there."""
        if run_options is not None and run_options.adapter_inputs():
            _warn("run_with_iobinding: no effect of the active adapters; bind their tensors as inputs")
        iobinding.run(run_options.token if run_options is not None else None)

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that a run must provide; see get_overridable_initializers for the others."""
        return self._input_args(required=True)

    def get_outputs(self) -> list[NodeArg]:
        return self._node_args(self._session.outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Initializers that the model also lists as inputs, from IR version 4 on: a run may override their values."""
        return self._input_args(required=False)

    def _input_args(self, required: bool) -> list[NodeArg]:
        return self._node_args([info for info in self._session.inputs if info.required == required])

    def _node_args(self, infos: Iterable[gantry.ValueInfo]) -> list[NodeArg]:
        return [NodeArg(info.name, type_name(info.kind, info.dtype), list(info.shape or [])) for info in infos]

    def get_providers(self) -> list[str]:
        """The providers in use, most preferred first; the CPU is always included."""
        return list(self._providers)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {name: dict(options) for name, options in self._provider_options.items()}

    def get_provider_graph_assignment_info(self) -> list[OrtEpAssignedSubgraph]:
        """An entry for each node that a run computes, in the main graph and in bodies, with the provider of its device."""
        rows = self._session.placement.nodes
        return [OrtEpAssignedSubgraph(row.device.split(":")[0] + _SUFFIX, OrtEpAssignedNode(row.node, row.domain, row.op_type)) for row in rows]

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_modelmeta(self) -> ModelMetadata:
        """Metadata of the model, which is read again."""
        summary = inspect(self._model)
        return ModelMetadata(summary.producer, summary.name, summary.domain, summary.description, summary.graph_description, summary.version,
                             dict(summary.metadata))

    def end_profiling(self) -> str:
        """Writes a trace file and returns its name: one event for each node, with its time over all runs in microseconds.

        Raises InvalidArgumentError if the session was made without enable_profiling.
        """
        events = []
        start = 0.0
        for row in self._session.profile():
            events.append({"name": row.node, "cat": "Node", "ph": "X", "pid": os.getpid(), "tid": 0, "ts": start, "dur": row.total_ns / 1000,
                           "args": {"op_name": row.op_type, "provider": row.provider, "device": row.device, "runs": row.runs}})
            start += row.total_ns / 1000
        name = f"{self._options.profile_file_prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
        with open(name, "w", encoding="utf-8") as file:
            json.dump(events, file)
        self._session.reset_profile()
        return name

    def get_profiling_start_time_ns(self) -> int:
        return self._started
