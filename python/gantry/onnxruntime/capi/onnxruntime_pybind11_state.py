# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's C++ module: its functions, classes and exceptions. The exceptions are gantry's; Fail and RuntimeException are the base class."""

from gantry.errors import CancelledError as ModelLoadCanceled
from gantry.errors import DeviceError as EPFail
from gantry.errors import DeviceLostError as DeviceReset
from gantry.errors import Error as Fail
from gantry.errors import Error as RuntimeException
from gantry.errors import InvalidArgumentError as InvalidArgument
from gantry.errors import InvalidModelError as InvalidGraph
from gantry.errors import InvalidModelError as InvalidProtobuf
from gantry.errors import NotFoundError as NoSuchFile
from gantry.errors import NotFoundError as NotFound
from gantry.errors import UnsupportedError as NotImplemented  # the name is ONNX Runtime's
from gantry.onnxruntime import adapters, compiler, devices, options, plugins, process, providers, session, sparse
from gantry.onnxruntime.adapters import *  # noqa: F403 - the names of its __all__
from gantry.onnxruntime.binding import IOBinding as SessionIOBinding
from gantry.onnxruntime.compiler import *  # noqa: F403
from gantry.onnxruntime.devices import *  # noqa: F403
from gantry.onnxruntime.options import *  # noqa: F403
from gantry.onnxruntime.plugins import *  # noqa: F403
from gantry.onnxruntime.process import *  # noqa: F403
from gantry.onnxruntime.providers import *  # noqa: F403
from gantry.onnxruntime.session import *  # noqa: F403
from gantry.onnxruntime.sparse import *  # noqa: F403
from gantry.onnxruntime.values import OrtValue, OrtValueVector, copy_tensors

__all__ = [
    "DeviceReset",
    "EPFail",
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "ModelLoadCanceled",
    "NoSuchFile",
    "NotFound",
    "NotImplemented",
    "OrtValue",
    "OrtValueVector",
    "RuntimeException",
    "SessionIOBinding",
    "copy_tensors",
]
__all__ += adapters.__all__
__all__ += compiler.__all__
__all__ += devices.__all__
__all__ += options.__all__
__all__ += plugins.__all__
__all__ += process.__all__
__all__ += providers.__all__
__all__ += session.__all__
__all__ += sparse.__all__
