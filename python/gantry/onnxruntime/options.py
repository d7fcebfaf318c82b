# SPDX-License-Identifier: Apache-2.0
"""SessionOptions and RunOptions: the options that gantry supports, and warnings for the others."""

import enum
from typing import Any

import gantry
from gantry import CancelToken
from gantry.errors import NotFoundError, UnsupportedError

__all__ = ["ExecutionMode", "GraphOptimizationLevel", "RunOptions", "SessionOptions"]


class GraphOptimizationLevel(enum.IntEnum):
    """How much of a graph may be rewritten. gantry has three levels: none, basic, and everything above."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """gantry runs nodes one after the other, each on all threads: ORT_SEQUENTIAL."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


_OPTIMIZATION = {GraphOptimizationLevel.ORT_DISABLE_ALL: "none", GraphOptimizationLevel.ORT_ENABLE_BASIC: "basic"}

# Options that affect speed or logging but not results: a value other than the default gives a warning.
_NOT_OBEYED = {
    "enable_cpu_mem_arena": True,
    "enable_mem_pattern": True,
    "enable_mem_reuse": True,
    "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
    "inter_op_num_threads": 0,
    "log_verbosity_level": 0,
    "logid": "",
    "use_deterministic_compute": False,
    "use_per_session_threads": True,
}


class SessionOptions:
    """Options of an InferenceSession.

    intra_op_num_threads: threads of a run; 0 and less: one for each core. graph_optimization_level: a GraphOptimizationLevel.
    enable_profiling: measure the time of each node; end_profiling() writes it to a file whose name starts with profile_file_prefix.
    log_severity_level: from 3 (error) on, InferenceSession does not warn of options without effect; -1: as set_default_logger_severity.
    Other attributes have no effect, and InferenceSession warns if one is not at its default. Those that would change results are errors:
    optimized_model_filepath, initializers from code, libraries of operators.

    >>> options = SessionOptions(); options.intra_op_num_threads = 2
    """

    __slots__ = (
        "_entries",
        "_free_dimensions",
        "enable_profiling",
        "graph_optimization_level",
        "intra_op_num_threads",
        "log_severity_level",
        "optimized_model_filepath",
        "profile_file_prefix",
        *_NOT_OBEYED,
    )

    def __init__(self) -> None:
        self._entries: dict[str, str] = {}
        self._free_dimensions: dict[str, int] = {}
        self.enable_profiling = False
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.intra_op_num_threads = 0
        self.log_severity_level = -1
        self.optimized_model_filepath = ""
        self.profile_file_prefix = "onnxruntime_profile_"
        for name, value in _NOT_OBEYED.items():
            setattr(self, name, value)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Stored, but without effect, with a warning: gantry has none of ONNX Runtime's keys."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """The value stored by add_session_config_entry; NotFoundError if there is none."""
        if key not in self._entries:
            raise NotFoundError(f'session config entry "{key}": it was not added')
        return self._entries[key]

    def add_free_dimension_override_by_name(self, dim_name: str, dim_value: int) -> None:
        """get_inputs and get_outputs report the value for dimensions of this name. Runs may still use another extent."""
        self._free_dimensions[dim_name] = dim_value

    def add_initializer(self, name: str, ort_value: Any) -> None:
        """UnsupportedError."""
        raise UnsupportedError(f'add_initializer: gantry takes the initializer "{name}" from the model; write it there with the package onnx')

    def add_external_initializers(self, names: list[str], ort_values: list[Any]) -> None:
        """UnsupportedError."""
        raise UnsupportedError(f"add_external_initializers: gantry takes initializers ({', '.join(names)}) from the model and its files alone; "
                               "write them there with the package onnx")

    def register_custom_ops_library(self, path: Any) -> None:
        """UnsupportedError: such a library is built against ONNX Runtime. Custom operators need a provider (docs/write-a-provider.md)."""
        raise UnsupportedError(f"register_custom_ops_library: {path} is a library for ONNX Runtime, which gantry cannot open; operators of other "
                               "domains come from a provider (gantry provider new)")

    def free_dimensions(self) -> dict[Any, int]:
        """The overrides of add_free_dimension_override_by_name."""
        return self._free_dimensions

    def is_quiet(self) -> bool:
        """True if only errors are to be reported."""
        return self.log_severity_level >= 3 or (self.log_severity_level < 0 and gantry.log_level() == "error")

    def config(self) -> dict[str, Any]:
        """gantry's configuration for the supported options. UnsupportedError: an unsupported option that would change results."""
        if self.optimized_model_filepath:
            raise UnsupportedError("optimized_model_filepath: gantry does not write models")
        session: dict[str, Any] = {"optimization": _OPTIMIZATION.get(GraphOptimizationLevel(self.graph_optimization_level), "all")}
        if self.intra_op_num_threads > 0:
            session["threads"] = self.intra_op_num_threads
        return {"session": session}

    def not_obeyed(self) -> list[str]:
        """The options, with their values, that have no effect here."""
        changed = [f"{name}={getattr(self, name)!r}" for name, value in _NOT_OBEYED.items() if getattr(self, name) != value]
        return changed + [f"{key}={value!r}" for key, value in self._entries.items()]


class RunOptions:
    """Options of a run. `terminate = True`, set by any thread, cancels the runs that use it with CancelledError.

    log_severity_level, log_verbosity_level, logid and only_execute_path_to_fetches have no effect on results, and none here.

    >>> session.run(None, {"x": x}, RunOptions())
    """

    __slots__ = ("log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches", "token", "_entries")

    def __init__(self) -> None:
        self.token = CancelToken()
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
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

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Stored, but without effect: gantry has none of ONNX Runtime's keys."""
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """The value stored by add_run_config_entry; NotFoundError if there is none."""
        if key not in self._entries:
            raise NotFoundError(f'run config entry "{key}": it was not added')
        return self._entries[key]
