#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models that the benchmarks measure.

    make_models.py FOLDER

one_node.onnx       an Add of 16 floats
chained_adds.onnx   1,000 of them, one after the other
mixed_N.onnx        N nodes (1,000, 10,000, 100,000) of four operators, each reading the last one and one before
resnet50.onnx       ONNX's light ResNet-50 with random numbers in place of its repeated one: 97 MB of weights
"""

import argparse
import pathlib
import sys

import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from fill_weights import fill_weights  # noqa: E402: the folder of the tests' helpers is no package

LIGHT = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
ELEMENTS = 16


def chained_adds(count: int) -> onnx.ModelProto:
    """x + x + ... in nodes of 16 floats each."""
    names = ["x", *(f"sum_{i}" for i in range(1, count)), "y"]
    nodes = [helper.make_node("Add", [names[i], "x"], [names[i + 1]], name=f"add_{i}") for i in range(count)]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [ELEMENTS]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "chained_adds", infos[:1], infos[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def mixed(count: int) -> onnx.ModelProto:
    """Add, Relu, Mul and Neg in turn; each binary one also reads a result from ten nodes before."""
    value = lambda i: f"v{i}" if i else "x"  # noqa: E731
    nodes = []
    for i in range(count):
        op_type = ("Add", "Relu", "Mul", "Neg")[i % 4]
        inputs = [value(i), value(max(0, i - 10))] if i % 2 == 0 else [value(i)]
        nodes.append(helper.make_node(op_type, inputs, [value(i + 1)], name=f"{'left' if i % 3 else 'right'}/n{i}"))
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [ELEMENTS]) for name in ("x", value(count))]
    graph = helper.make_graph(nodes, "mixed", infos[:1], infos[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(chained_adds(1), folder / "one_node.onnx")
    onnx.save(chained_adds(1000), folder / "chained_adds.onnx")
    for count in (1_000, 10_000, 100_000):
        onnx.save(mixed(count), folder / f"mixed_{count}.onnx")
    onnx.save(fill_weights(onnx.load(LIGHT / "light_resnet50.onnx")), folder / "resnet50.onnx")
    return 0


if __name__ == "__main__":
    sys.exit(main())
