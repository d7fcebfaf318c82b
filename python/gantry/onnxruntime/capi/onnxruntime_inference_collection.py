# SPDX-License-Identifier: Apache-2.0
"""The classes under the name of the file in which ONNX Runtime has them: editors write imports from it."""

from gantry.onnxruntime.adapters import AdapterFormat, LoraAdapter
from gantry.onnxruntime.binding import IOBinding
from gantry.onnxruntime.compiler import ModelCompiler
from gantry.onnxruntime.devices import OrtDevice
from gantry.onnxruntime.session import InferenceSession
from gantry.onnxruntime.sparse import SparseTensor
from gantry.onnxruntime.values import OrtValue, copy_tensors

__all__ = ["AdapterFormat", "InferenceSession", "IOBinding", "LoraAdapter", "ModelCompiler", "OrtDevice", "OrtValue", "SparseTensor", "copy_tensors"]
