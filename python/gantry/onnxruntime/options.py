# SPDX-License-Identifier: Apache-2.0
"""SessionOptions and RunOptions: the options that gantry supports, and warnings for the others."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import gantry
from gantry import CancelToken
from gantry.errors import InvalidArgumentError, NotFoundError
from gantry.onnxruntime.adapters import LoraAdapter
from gantry.onnxruntime.checked_option import CheckedOption
from gantry.onnxruntime.devices import NamedNumber, OrtEpDevice, OrtExecutionProviderDevicePolicy, OrtHardwareDeviceType
from gantry.onnxruntime.process import global_threads
from gantry.onnxruntime.providers import get_ep_devices
from gantry.onnxruntime.values import OrtValue

__all__ = ["ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "RunOptions", "SessionOptions"]


class GraphOptimizationLevel(NamedNumber):
    """How much of a graph may be rewritten. gantry has three levels: none, basic, and everything above."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(NamedNumber):
    """gantry runs nodes one after the other, each on all threads: ORT_SEQUENTIAL."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(NamedNumber):
    """In which order nodes run that do not wait for each other; gantry's is DEFAULT."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


_OPTIMIZATION = {GraphOptimizationLevel.ORT_DISABLE_ALL: "none", GraphOptimizationLevel.ORT_ENABLE_BASIC: "basic"}

# Entries of the configuration that are obeyed.
_EXTERNAL_FILE = "session.optimized_model_external_initializers_file_name"
_EXTERNAL_BYTES = "session.optimized_model_external_initializers_min_size_in_bytes"

# Values beside the defaults with which gantry does what they ask for: nodes follow each other.
_AS_ASKED = {("inter_op_num_threads", 1)}


class SessionOptions:
    """Options of an InferenceSession.

    intra_op_num_threads: threads of a run; 0 and less: one for each core, or, if use_per_session_threads is False, what
    set_global_thread_pool_sizes was given. graph_optimization_level: a GraphOptimizationLevel.
    enable_profiling: measure the time of each node; end_profiling(), or the session's end, writes it to a file whose name starts with
    profile_file_prefix.
    log_severity_level: from 3 (error) on, InferenceSession does not warn of options without effect; -1: as set_default_logger_severity.
    optimized_model_filepath: writes the model there as gantry.write_optimized does, when a session is made. Other attributes have no effect,
    and InferenceSession warns if one is not at its default.

    >>> options = SessionOptions(); options.intra_op_num_threads = 2
    """

    enable_profiling = CheckedOption(False)
    graph_optimization_level = CheckedOption(GraphOptimizationLevel.ORT_ENABLE_ALL)
    intra_op_num_threads = CheckedOption(0)
    log_severity_level = CheckedOption(-1)
    optimized_model_filepath = CheckedOption("")
    profile_file_prefix = CheckedOption("onnxruntime_profile_")
    use_per_session_threads = CheckedOption(True)
    # These have an effect on speed or logging but not on results.
    enable_cpu_mem_arena = CheckedOption(True)
    enable_mem_pattern = CheckedOption(True)
    enable_mem_reuse = CheckedOption(True)
    execution_mode = CheckedOption(ExecutionMode.ORT_SEQUENTIAL)
    execution_order = CheckedOption(ExecutionOrder.DEFAULT)
    inter_op_num_threads = CheckedOption(0)
    log_verbosity_level = CheckedOption(0)
    logid = CheckedOption("")
    use_deterministic_compute = CheckedOption(False)
    _NOT_OBEYED = (enable_cpu_mem_arena, enable_mem_pattern, enable_mem_reuse, execution_mode, execution_order, inter_op_num_threads,
                   log_verbosity_level, logid, use_deterministic_compute)

    __slots__ = ("_dimensions", "_entries", "_initializers", "_libraries", "_loading", "_providers", "checked_values", "__weakref__")

    def __init__(self) -> None:
        self.checked_values: dict[str, Any] = {}
        self._entries: dict[str, str] = {}
        self._dimensions: dict[str, int] = {}
        self._initializers: dict[str, Any] = {}
        self._libraries: list[str] = []
        self._loading = CancelToken()
        self._providers: list[tuple[str, dict[str, str]]] = []

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Stored, but without effect, with a warning, except for those about external initializers of optimized_model_filepath."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """The value stored by add_session_config_entry; NotFoundError if there is none."""
        if key not in self._entries:
            raise NotFoundError(f'session config entry "{key}": it was not added')
        return self._entries[key]

    def add_free_dimension_override_by_name(self, dim_name: str, dim_value: int) -> None:
        """Fixes the dimensions of this name: the model is loaded as if it had the extent, and runs with another one are refused."""
        self._dimensions[dim_name] = dim_value

    def add_free_dimension_override_by_denotation(self, dim_denotation: str, dim_value: int) -> None:
        """As add_free_dimension_override_by_name, for the inputs' dimensions with this denotation ("DATA_BATCH")."""
        self._dimensions[dim_denotation] = dim_value

    def add_initializer(self, name: str, ort_value: Any) -> None:
        """Puts a tensor in host memory in place of the model's initializer. Its memory is shared and must not change."""
        self._initializers[name] = ort_value

    def add_external_initializers(self, names: list[str], ort_values: list[Any]) -> None:
        """As add_initializer, for several: those of the model's external files need no file any more."""
        if len(names) != len(ort_values):
            raise InvalidArgumentError(f"add_external_initializers: expected one value for each of the {len(names)} names, found {len(ort_values)}")
        self._initializers |= dict(zip(names, ort_values, strict=True))

    def add_provider(self, provider_name: str, provider_options: Mapping[str, str] | None = None) -> None:
        """Appends a provider for sessions that are given none, as "CPUExecutionProvider"."""
        self._providers.append((provider_name, dict(provider_options or {})))

    def add_provider_for_devices(self, ep_devices: Sequence[OrtEpDevice], provider_options: Mapping[str, str] | None = None) -> None:
        """As add_provider, for each of these devices (get_ep_devices()), which have one provider.

        >>> options.add_provider_for_devices([device for device in ort.get_ep_devices() if device.ep_name == "CUDAExecutionProvider"])
        """
        names = {device.ep_name for device in ep_devices}
        if len(names) != 1:
            raise InvalidArgumentError(f"add_provider_for_devices: expected devices of one provider, found {', '.join(sorted(names)) or 'none'}")
        for device in ep_devices:
            self.add_provider(device.ep_name, {**device.ep_options, **(provider_options or {})})

    def set_provider_selection_policy(self, policy: OrtExecutionProviderDevicePolicy) -> None:
        """Appends devices: every one but CPUs by MAX_PERFORMANCE, GPUs by PREFER_GPU, neural ones by PREFER_NPU, none by the others. The CPU comes last always."""
        kinds = {OrtExecutionProviderDevicePolicy.PREFER_GPU: (OrtHardwareDeviceType.GPU,), OrtExecutionProviderDevicePolicy.PREFER_NPU: (OrtHardwareDeviceType.NPU,),
                 OrtExecutionProviderDevicePolicy.MAX_PERFORMANCE: (OrtHardwareDeviceType.GPU, OrtHardwareDeviceType.NPU)}.get(policy, ())
        for device in get_ep_devices() if kinds else ():
            if device.device.type in kinds:
                self.add_provider(device.ep_name, device.ep_options)

    def set_load_cancellation_flag(self, value: bool) -> None:
        """True, set by any thread, ends the loading of sessions with these options with CancelledError, until it is set to False."""
        if value:
            self._loading.cancel()
        else:
            self._loading.reset()

    def loading_token(self) -> CancelToken:
        """The token that set_load_cancellation_flag sets."""
        return self._loading

    def has_providers(self) -> bool:
        """True after add_provider."""
        return bool(self._providers)

    def register_custom_ops_library(self, path: Any) -> None:
        """Adds the operators of a library that is made for ONNX Runtime; a session opens it. They run on the CPU.

        NotFoundError: there is no such file. A name without a folder is searched for as the dynamic linker does.
        """
        library = os.fsdecode(path)
        if os.path.dirname(library) and not os.path.exists(library):
            raise NotFoundError(f"register_custom_ops_library: expected a library, found no file {library}")
        self._libraries.append(library)

    def providers(self) -> list[tuple[str, dict[str, str]]]:
        """(name, options) of each add_provider."""
        return list(self._providers)

    def initializers(self) -> dict[str, Any]:
        """The values of add_initializer and add_external_initializers, as gantry takes them."""
        return {name: value.value if isinstance(value, OrtValue) else value for name, value in self._initializers.items()}

    def is_quiet(self) -> bool:
        """True if only errors are to be reported."""
        return self.log_severity_level >= 3 or (self.log_severity_level < 0 and gantry.log_level() == "error")

    def external_tensors(self) -> tuple[str, int]:
        """The file beside optimized_model_filepath for tensors of that many bytes and more; "": none."""
        return self._entries.get(_EXTERNAL_FILE, ""), int(self._entries.get(_EXTERNAL_BYTES, "1024"))

    def config(self) -> dict[str, Any]:
        """gantry's configuration for the supported options."""
        return self.config_at(self.graph_optimization_level)

    def config_at(self, level: GraphOptimizationLevel) -> dict[str, Any]:
        """As config(), with this level in place of graph_optimization_level."""
        session: dict[str, Any] = {"optimization": _OPTIMIZATION.get(level, "all")}
        threads = self.intra_op_num_threads
        if threads <= 0 and not self.use_per_session_threads:
            threads = global_threads()
        if threads > 0:
            session["threads"] = threads
        if self._dimensions:
            session["dimensions"] = dict(self._dimensions)
        config: dict[str, Any] = {"session": session}
        if self._libraries:
            config["providers"] = {"options": {"ort_custom_ops": {"libraries": list(self._libraries)}}}
        return config

    def not_obeyed(self) -> list[str]:
        """The options, with their values, that have no effect here."""
        values = ((option, option.__get__(self)) for option in self._NOT_OBEYED)
        changed = [f"{option.name}={value!r}" for option, value in values if value != option.default and (option.name, value) not in _AS_ASKED]
        return changed + [f"{key}={value!r}" for key, value in self._entries.items() if key not in (_EXTERNAL_FILE, _EXTERNAL_BYTES)]


class RunOptions:
    """Options of a run: `terminate`, and adapters. `terminate = True`, set by any thread, cancels the runs that use it with CancelledError.

    log_severity_level, log_verbosity_level, logid and only_execute_path_to_fetches have no effect on results, and none here.

    >>> session.run(None, {"x": x}, RunOptions())
    """

    log_severity_level = CheckedOption(-1)
    log_verbosity_level = CheckedOption(0)
    logid = CheckedOption("")
    only_execute_path_to_fetches = CheckedOption(False)

    __slots__ = ("_adapters", "_entries", "checked_values", "token")

    def __init__(self) -> None:
        self.checked_values: dict[str, Any] = {}
        self.token = CancelToken()
        self._adapters: list[LoraAdapter] = []
        self._entries: dict[str, str] = {}

    @property
    def terminate(self) -> bool:
        """True cancels the runs; stays set until it is set to False."""
        return self.token.cancelled

    @terminate.setter
    def terminate(self, value: bool) -> None:
        if value:
            self.token.cancel()
        else:
            self.token.reset()

    def add_active_adapter(self, adapter: LoraAdapter) -> None:
        """Runs take the adapter's tensors for the inputs of their names. No effect, with a warning, on run_with_iobinding."""
        self._adapters.append(adapter)

    def adapter_inputs(self) -> dict[str, Any]:
        """The tensors of the active adapters by the inputs' names; of several with one name the first."""
        return {name: value for adapter in reversed(self._adapters) for name, value in adapter.parameters().items()}

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Stored, but without effect: gantry has none of ONNX Runtime's keys."""
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """The value stored by add_run_config_entry; NotFoundError if there is none."""
        if key not in self._entries:
            raise NotFoundError(f'run config entry "{key}": it was not added')
        return self._entries[key]
