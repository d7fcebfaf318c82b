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
from gantry.onnxruntime import adapters, capi, compiler, devices, options, plugins, process, providers, session, sparse
from gantry.onnxruntime.adapters import *  # noqa: F403 - the names of its __all__
from gantry.onnxruntime.binding import IOBinding
from gantry.onnxruntime.compiler import *  # noqa: F403
from gantry.onnxruntime.devices import *  # noqa: F403
from gantry.onnxruntime.options import *  # noqa: F403
from gantry.onnxruntime.plugins import *  # noqa: F403
from gantry.onnxruntime.process import *  # noqa: F403
from gantry.onnxruntime.providers import *  # noqa: F403
from gantry.onnxruntime.session import *  # noqa: F403
from gantry.onnxruntime.sparse import *  # noqa: F403
from gantry.onnxruntime.values import OrtValue, copy_tensors

__all__ = ["IOBinding", "OrtValue", "__version__", "capi", "copy_tensors"]
__all__ += adapters.__all__
__all__ += compiler.__all__
__all__ += devices.__all__
__all__ += options.__all__
__all__ += plugins.__all__
__all__ += process.__all__
__all__ += providers.__all__
__all__ += session.__all__
__all__ += sparse.__all__


def __getattr__(name: str) -> Any:
    raise AttributeError(f"gantry.onnxruntime has no {name}; it has {', '.join(sorted(__all__))}")
