# SPDX-License-Identifier: Apache-2.0
"""SessionOptions and RunOptions: what gantry obeys, and a word on what it cannot."""

import enum
from typing import Any

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

# Options that change how fast a session is or what it prints, never its results: another value than the default is warned of.
_NOT_OBEYED = {
    "enable_cpu_mem_arena": True,
    "enable_mem_pattern": True,
    "enable_mem_reuse": True,
    "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
    "inter_op_num_threads": 0,
    "log_severity_level": -1,
    "log_verbosity_level": 0,
    "logid": "",
    "use_deterministic_compute": False,
    "use_per_session_threads": True,
}


class SessionOptions:
    """What an InferenceSession is made with.

    intra_op_num_threads: threads of a run; 0: one for each core. graph_optimization_level: a GraphOptimizationLevel. enable_profiling:
    take the time of each node; end_profiling() writes it to a file whose name starts with profile_file_prefix. Another attribute that is
    not at its default is not obeyed, and InferenceSession warns of it; optimized_model_filepath is an error.

    >>> options = SessionOptions(); options.intra_op_num_threads = 2
    """

    __slots__ = (
        "_entries",
        "enable_profiling",
        "graph_optimization_level",
        "intra_op_num_threads",
        "optimized_model_filepath",
        "profile_file_prefix",
        *_NOT_OBEYED,
    )

    def __init__(self) -> None:
        self._entries: dict[str, str] = {}
        self.enable_profiling = False
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.intra_op_num_threads = 0
        self.optimized_model_filepath = ""
        self.profile_file_prefix = "onnxruntime_profile_"
        for name, value in _NOT_OBEYED.items():
            setattr(self, name, value)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Kept, and warned of: gantry knows none of ONNX Runtime's keys."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """What add_session_config_entry was given; NotFoundError without it."""
        if key not in self._entries:
            raise NotFoundError(f'session config entry "{key}": it was not added')
        return self._entries[key]

    def config(self) -> dict[str, Any]:
        """gantry's configuration for what is obeyed. UnsupportedError: an option whose effect would be missed."""
        if self.optimized_model_filepath:
            raise UnsupportedError("optimized_model_filepath: gantry does not write models")
        session: dict[str, Any] = {"optimization": _OPTIMIZATION.get(GraphOptimizationLevel(self.graph_optimization_level), "all")}
        if self.intra_op_num_threads:
            session["threads"] = self.intra_op_num_threads
        return {"session": session}

    def not_obeyed(self) -> list[str]:
        """The options, with their values, that have no effect here."""
        changed = [f"{name}={getattr(self, name)!r}" for name, value in _NOT_OBEYED.items() if getattr(self, name) != value]
        return changed + [f"{key}={value!r}" for key, value in self._entries.items()]


class RunOptions:
    """Options of a run. `terminate = True`, set by any thread, ends the runs that were given it with CancelledError.

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
        """Ends the runs; stays set until it is set to False."""
        return self.token.cancelled

    @terminate.setter
    def terminate(self, value: bool) -> None:
        if value:
            self.token.cancel()
        else:
            self.token.reset()

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Kept; gantry knows none of ONNX Runtime's keys."""
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """What add_run_config_entry was given; NotFoundError without it."""
        if key not in self._entries:
            raise NotFoundError(f'run config entry "{key}": it was not added')
        return self._entries[key]
