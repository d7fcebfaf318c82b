# SPDX-License-Identifier: Apache-2.0
"""Process-wide functions of ONNX Runtime's module."""

import platform
import warnings

import gantry

__all__ = [
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_build_info",
    "get_version_string",
    "has_collective_ops",
    "preload_dlls",
    "print_debug_info",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
]

_global_threads = 0

# ONNX Runtime's severities: verbose, info, warning, error, fatal.
_LEVELS = ("debug", "info", "warning", "error", "error")


def get_version_string() -> str:
    """gantry's version."""
    return gantry.__version__


def get_build_info() -> str:
    """A sentence that describes this implementation."""
    return f"ORT Build Info: gantry {gantry.__version__}"


def has_collective_ops() -> bool:
    """False: there are no operators that communicate."""
    return False


def set_default_logger_severity(severity: int) -> None:
    """How much is written to standard error: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal. As gantry.set_log_level, which has no level fatal."""
    if severity not in range(len(_LEVELS)):
        raise gantry.InvalidArgumentError(f"severity: expected 0 (verbose) to 4 (fatal), found {severity!r}")
    gantry.set_log_level(_LEVELS[severity])


def set_default_logger_verbosity(verbosity: int) -> None:
    """Has no effect: set_default_logger_severity(0) writes all there is."""


def set_global_thread_pool_sizes(intra_op_num_threads: int, inter_op_num_threads: int) -> None:
    """Threads of a run, for the sessions to come whose options have use_per_session_threads = False; 0: one for each core.

    inter_op_num_threads has no effect: the nodes of a run follow each other.
    """
    global _global_threads
    if min(intra_op_num_threads, inter_op_num_threads) < 0:
        raise gantry.InvalidArgumentError(f"set_global_thread_pool_sizes: expected numbers from 0, found {intra_op_num_threads} and {inter_op_num_threads}")
    _global_threads = intra_op_num_threads


def global_threads() -> int:
    """What set_global_thread_pool_sizes was given; 0 before."""
    return _global_threads


def set_seed(seed: int) -> None:
    """Has no effect and warns: random operators without a seed in the model draw new values in each run."""
    warnings.warn(f"gantry.onnxruntime: set_seed({seed}) has no effect; give random nodes the attribute seed", UserWarning, stacklevel=2)


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Has no effect: a provider finds its libraries by itself (`gantry doctor` lists missing ones)."""


def print_debug_info() -> None:
    """Prints the versions and the devices, for a report of a fault; `gantry doctor` prints more."""
    print(f"gantry {gantry.__version__}\nplatform: {platform.platform()}\nPython {platform.python_version()}")
    for device in gantry.devices():
        print(f"{device.type}:{device.id} ({device.provider}): {device.state}")


def disable_telemetry_events() -> None:
    """Has no effect: gantry sends no telemetry."""


def enable_telemetry_events() -> None:
    """Has no effect: gantry sends no telemetry."""
