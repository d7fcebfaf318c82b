# SPDX-License-Identifier: Apache-2.0
"""InferenceSession."""

import dataclasses
import os
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import gantry
from gantry._core import inspect
from gantry.errors import InvalidArgumentError
from gantry.onnxruntime import plugins
from gantry.onnxruntime.binding import IOBinding
from gantry.onnxruntime.names import type_name
from gantry.onnxruntime.options import RunOptions, SessionOptions
from gantry.onnxruntime.profile_file import ProfileFile
from gantry.onnxruntime.providers import HOST, Choice, choose, provider_of, requested
from gantry.onnxruntime.values import OrtValue, as_text
from gantry.onnxruntime.warning import warn
from gantry.run_future import threads

__all__ = ["InferenceSession", "ModelMetadata", "NodeArg", "OrtEpAssignedNode", "OrtEpAssignedSubgraph"]

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


def _expect_run_options(run_options: Any) -> None:
    if run_options is not None and not isinstance(run_options, RunOptions):
        raise InvalidArgumentError(f"run_options: expected RunOptions, found a {type(run_options).__name__}")


class InferenceSession:
    """A model ready to run.

    path_or_bytes: a path, the bytes of a model, or an onnx.ModelProto. sess_options: see SessionOptions. providers: names, or
    (name, options) with the option "device_id", most preferred first; nodes that one refuses go to the next, and to the CPU last. The provider of a
    registered library has its own options too. A missing provider gives a warning and is skipped. disabled_optimizers, enable_fallback and arguments of
    other names: no effect.

    gantry_session: the gantry.Session that runs the model.

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
        **unknown: Any,
    ) -> None:
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise InvalidArgumentError(f"sess_options: expected SessionOptions, found a {type(sess_options).__name__}")
        is_bytes = isinstance(path_or_bytes, (bytes, bytearray, memoryview))
        if not is_bytes and not isinstance(path_or_bytes, (str, os.PathLike)) and not hasattr(path_or_bytes, "SerializeToString"):
            raise TypeError(f"path_or_bytes: expected a path, the bytes of a model or an onnx.ModelProto, found a {type(path_or_bytes).__name__}")
        self._options = sess_options if sess_options is not None else SessionOptions()
        self._model = path_or_bytes
        # Programs read these two of ONNX Runtime's class.
        self._model_path = os.fsdecode(path_or_bytes) if isinstance(path_or_bytes, (str, os.PathLike)) else None
        self._model_bytes = path_or_bytes if isinstance(path_or_bytes, bytes) else None
        self._profile_file: ProfileFile | None = None
        not_obeyed = self._options.not_obeyed()
        if disabled_optimizers:
            not_obeyed.append(f"disabled_optimizers={sorted(disabled_optimizers)}")
        not_obeyed += [f"{name}={value!r}" for name, value in unknown.items()]
        if not_obeyed and not self._options.is_quiet():
            warn(f"no effect of the session options {', '.join(not_obeyed)}")
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
        chosen = [choice for name, options in requested(providers, provider_options) if (choice := choose(name, options, is_quiet))]
        if all(choice.name != HOST for choice in chosen):
            chosen.append(Choice(HOST, "CPU:0"))
        config["placement"] = {"prefer": [choice.device for choice in chosen], "fallback": "allow"}
        ep_options = {choice.name: choice.plugin_options for choice in chosen if choice.plugin_options is not None}
        if ep_options:
            config.setdefault("providers", {}).setdefault("options", {}).update(plugins.config(ep_options)["options"])
        self.gantry_session = gantry.Session(self._model, config=config, profile=self._options.enable_profiling,
                                       initializers=self._options.initializers(), cancel=self._options.loading_token())
        self._providers = list(dict.fromkeys(choice.name for choice in chosen))
        self._provider_options = {choice.name: {"device_id": choice.device.split(":")[1], **(choice.plugin_options or {})} for choice in reversed(chosen)}
        self._names = {choice.device: choice.name for choice in chosen}
        self._started = time.time_ns()
        if self._profile_file:
            self._profile_file.write()
            self._profile_file = None
        if self._options.enable_profiling:
            self._profile_file = ProfileFile(self.gantry_session, self._options.profile_file_prefix, self._names)
            weakref.finalize(self, self._profile_file.write)  # as ONNX Runtime, where the program does not end profiling itself

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
        _expect_run_options(run_options)
        feed = {name: value.value if isinstance(value, OrtValue) else as_text(value) for name, value in input_feed.items()}
        if run_options is not None:
            feed |= run_options.adapter_inputs()
        token = run_options.token if run_options is not None else None
        names = [info.name for info in self.gantry_session.outputs]
        results = self.gantry_session.run(feed, list(output_names) if output_names else None, cancel=token)
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

        if not callable(callback):
            raise InvalidArgumentError(f"callback: expected a function, found a {type(callback).__name__}")

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
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs with bound inputs and outputs. Outputs that are bound to memory are written there.

        InvalidArgumentError: the binding is not of this session's io_binding().
        """
        if not isinstance(iobinding, IOBinding) or not iobinding.belongs_to(self):
            raise InvalidArgumentError("run_with_iobinding: expected a binding that this session's io_binding() made")
        _expect_run_options(run_options)
        if run_options is not None and run_options.adapter_inputs():
            warn("run_with_iobinding: no effect of the active adapters; bind their tensors as inputs")
        iobinding.run(run_options.token if run_options is not None else None)

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that a run must provide; see get_overridable_initializers for the others."""
        return self._input_args(required=True)

    def get_outputs(self) -> list[NodeArg]:
        return self._node_args(self.gantry_session.outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Initializers that the model also lists as inputs, from IR version 4 on: a run may override their values."""
        return self._input_args(required=False)

    def _input_args(self, required: bool) -> list[NodeArg]:
        return self._node_args([info for info in self.gantry_session.inputs if info.required == required])

    def _node_args(self, infos: Iterable[gantry.ValueInfo]) -> list[NodeArg]:
        return [NodeArg(info.name, type_name(info.kind, info.dtype), list(info.shape or [])) for info in infos]

    def get_providers(self) -> list[str]:
        """The providers in use, most preferred first; the CPU is always included."""
        return list(self._providers)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {name: dict(options) for name, options in self._provider_options.items()}

    def get_provider_graph_assignment_info(self) -> list[OrtEpAssignedSubgraph]:
        """An entry for each node that a run computes, in the main graph and in bodies, with the provider of its device."""
        rows = self.gantry_session.placement.nodes
        return [OrtEpAssignedSubgraph(self._names.get(row.device, provider_of(row.device)), OrtEpAssignedNode(row.node, row.domain, row.op_type)) for row in rows]

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_modelmeta(self) -> ModelMetadata:
        """Metadata of the model, which is read again."""
        summary = inspect(self._model)
        return ModelMetadata(summary.producer, summary.name, summary.domain, summary.description, summary.graph_description, summary.version,
                             dict(summary.metadata))

    def end_profiling(self) -> str:
        """Writes a trace file and returns its name: one event for each node, with its time over all runs in microseconds.

        Without a call the file is written when the session ends. "" and a warning: it was made without enable_profiling, or this was called before.
        """
        name = self._profile_file.write() if self._profile_file else ""
        if not name:
            warn("end_profiling: no effect, " + ("the profile was written before" if self._profile_file else "the session options have enable_profiling=False"))
        return name

    def get_profiling_start_time_ns(self) -> int:
        return self._started
