# SPDX-License-Identifier: Apache-2.0
"""The commonly used part of ONNX Runtime's Python API, on gantry's devices.

    import gantry.onnxruntime as ort

    session = ort.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    (y,) = session.run(["y"], {"x": x})

A device TYPE of gantry is the provider "TYPEExecutionProvider": "CPUExecutionProvider" is CPU, "CUDAExecutionProvider" CUDA. What is not
supported is an error, or a warning if results are not affected. docs/python.md lists what is supported.
"""

from typing import Any

from gantry import __version__
from gantry.onnxruntime import capi, devices, options, process
from gantry.onnxruntime.binding import IOBinding
from gantry.onnxruntime.devices import *  # noqa: F403 - the names of its __all__
from gantry.onnxruntime.options import *  # noqa: F403
from gantry.onnxruntime.process import *  # noqa: F403
from gantry.onnxruntime.session import InferenceSession, ModelMetadata, NodeArg, get_available_providers, get_device
from gantry.onnxruntime.values import OrtValue

__all__ = [
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "__version__",
    "capi",
    "get_all_providers",
    "get_available_providers",
    "get_device",
]
__all__ += devices.__all__
__all__ += options.__all__
__all__ += process.__all__

get_all_providers = get_available_providers


def __getattr__(name: str) -> Any:
    raise AttributeError(f"gantry.onnxruntime has no {name}; it has {', '.join(sorted(__all__))}")
