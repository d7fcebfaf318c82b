# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's exceptions as aliases of gantry's. Fail and RuntimeException are aliases of the base class."""

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

__all__ = [
    "DeviceReset",
    "EPFail",
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "NoSuchFile",
    "NotFound",
    "NotImplemented",
    "RuntimeException",
]
