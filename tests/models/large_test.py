# SPDX-License-Identifier: Apache-2.0
"""Models of more than 2 GiB: constants inside the file and in an external one, both mapped and never copied. The files are holes but for their
last byte, so they take no space."""

import os
import resource

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import gantry

BYTES = 3 << 30  # beyond what 31 and 32 bits count


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, payload_bytes: int) -> bytes:
    """The tag and length of a length-delimited field."""
    return varint(number << 3 | 2) + varint(payload_bytes)


def gather_model(weight: TensorProto) -> onnx.ModelProto:
    """y = w[i] of a one-dimensional uint8 constant."""
    index = helper.make_tensor_value_info("i", TensorProto.INT64, [1])
    y = helper.make_tensor_value_info("y", TensorProto.UINT8, [1])
    graph = helper.make_graph([helper.make_node("Gather", ["w", "i"], ["y"], name="take")], "g", [index], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def hole(file, size: int, last: bytes):
    file.seek(size - len(last), os.SEEK_CUR)
    file.write(last)


def write_inline(path):
    weight = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[BYTES])
    model = gather_model(weight)
    del model.graph.initializer[:]
    header = weight.SerializeToString() + field(9, BYTES)  # raw_data
    initializer = field(5, len(header) + BYTES) + header
    graph = model.graph.SerializeToString()
    model.ClearField("graph")
    with open(path, "wb") as file:
        file.write(model.SerializeToString() + field(7, len(graph) + len(initializer) + BYTES) + graph + initializer)
        hole(file, BYTES, b"\x2a")


def write_external(path):
    weight = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[BYTES], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "weights.bin", "offset": "4096", "length": str(BYTES)}.items():
        weight.external_data.add(key=key, value=value)
    onnx.save(gather_model(weight), path)
    with open(path.parent / "weights.bin", "wb") as file:
        hole(file, 4096 + BYTES, b"\x2a")


@pytest.mark.parametrize("write", [write_inline, write_external])
def test_more_than_2_gib(tmp_path, write):
    path = tmp_path / "large.onnx"
    write(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    session = gantry.Session(path)
    assert session.run({"i": np.array([BYTES - 1])})["y"].tolist() == [42]
    assert session.run({"i": np.array([0])})["y"].tolist() == [0]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 256 << 20, f"the process grew by {grown} bytes: the constant was copied"
