# SPDX-License-Identifier: Apache-2.0
"""gantry as an execution provider of ONNX Runtime (docs/onnxruntime-provider.md).

    import gantry.onnxruntime_ep as gantry_ep
    import onnxruntime

    onnxruntime.register_execution_provider_library("gantry", gantry_ep.get_library_path())

The names of the functions are those that packages of such providers have.
"""

import pathlib

import gantry

_NAME = "GantryExecutionProvider"
_LIBRARY = "libgantry_onnxruntime_ep.so"


def get_library_path() -> str:
    """The library for register_execution_provider_library. RuntimeError: this installation does not have it."""
    path = _core_library().parent / "gantry" / "onnxruntime" / _LIBRARY
    if not path.exists():
        raise RuntimeError(f"gantry {gantry.__version__} was installed without {_LIBRARY}: expected it in {path.parent}; the wheel and `cmake --build --preset release` have it")
    return str(path)


def get_ep_name() -> str:
    """The provider's name in ONNX Runtime."""
    return _NAME


def get_ep_names() -> list[str]:
    """The names of all providers in the library."""
    return [_NAME]


def _core_library() -> pathlib.Path:
    """The core that this process has loaded with the module."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = (pathlib.Path(line.split(maxsplit=5)[5].rstrip("\n")) for line in maps if "/" in line)
        return next(path for path in paths if path.name.startswith("libgantry.so"))
