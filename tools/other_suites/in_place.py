# SPDX-License-Identifier: Apache-2.0
"""Puts gantry in ONNX Runtime's place: from its import on, `import onnxruntime` is gantry.onnxruntime, with that package's version.

What suites read from the version is which operators there are. Parts of ONNX Runtime that are Python alone (onnxruntime.quantization,
onnxruntime.transformers, onnxruntime.backend) stay its own, and get gantry's sessions.
"""

import importlib.metadata
import importlib.util
import sys
import types

import gantry.onnxruntime
from gantry.onnxruntime import capi


class InPlace(types.ModuleType):
    def __getattr__(self, name: str):
        return getattr(gantry.onnxruntime, name)


def put() -> None:
    module = InPlace("onnxruntime")
    module.__version__ = importlib.metadata.version("onnxruntime")
    module.__spec__ = importlib.util.find_spec("onnxruntime")
    module.__path__ = list(module.__spec__.submodule_search_locations)
    module.capi = capi
    sys.modules |= {"onnxruntime": module, "onnxruntime.capi": capi} | {
        f"onnxruntime.capi.{name}": getattr(capi, name) for name in ("onnxruntime_pybind11_state", "_pybind_state")}
