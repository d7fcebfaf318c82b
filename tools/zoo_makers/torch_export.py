# SPDX-License-Identifier: Apache-2.0
"""torch.onnx.export, with dynamo and without, of a module and its inputs."""

import contextlib
import io
import logging
import os
import tempfile

import onnx
import torch
from zoo_makers.made import Made

logging.disable(logging.WARNING)
EXPORTERS = ("dynamo", "script")


def flat(values) -> list:
    """Tensors of an answer in order, as numpy arrays."""
    if isinstance(values, torch.Tensor):
        return [values.detach().float().numpy() if values.dtype == torch.bfloat16 else values.detach().numpy()]
    if isinstance(values, dict) or hasattr(values, "to_tuple"):
        return flat(list(values.values()) if isinstance(values, dict) else list(values.to_tuple()))
    return [one for value in values if value is not None for one in flat(value)] if isinstance(values, (list, tuple)) else []


def export(module, inputs, exporter, opset=None, open_axes=None) -> Made:
    """`inputs`: tensors by the names of the module's arguments, or a list; `open_axes`: by name, the axes that stay open."""
    module = module.eval()
    named = inputs if isinstance(inputs, dict) else {f"x{i}": value for i, value in enumerate(inputs)}
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        arguments = {"kwargs": inputs, "args": ()} if isinstance(inputs, dict) else {"args": tuple(inputs)}
        expected = flat(module(*arguments["args"], **arguments.get("kwargs", {})))
        file = os.path.join(folder, "m.onnx")
        axes = {name: {axis: f"{name}_{axis}" for axis in open_axes.get(name, [])} for name in named} if open_axes else None
        torch.onnx.export(module, f=file, input_names=list(named), opset_version=opset, dynamo=exporter == "dynamo", dynamic_axes=axes, **arguments)
        model = onnx.load(file)
    names = [one.name for one in model.graph.input]
    return Made(model, dict(zip(names, (value.numpy() for value in named.values()))), expected)
